#include "models/cuda/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tune::models::cuda {
namespace {

// Of nccl.h, the same since NCCL 2.2; enumerations are passed as int.
constexpr int kSuccess = 0, kRemoteError = 6, kInProgress = 7;  // ncclSuccess and so on
constexpr int kFloat32 = 7;                                     // ncclFloat32
constexpr int kSum = 0;                                         // ncclSum
struct UniqueId {
  char bytes[sizeof(Nccl::Id)];
};
using Communicator = void*;
using GetVersionFunction = int(int* version);
using GetUniqueIdFunction = int(UniqueId*);
using CommInitRankFunction = int(Communicator*, int rank_count, UniqueId id, int rank);
using CommAbortFunction = int(Communicator);
using CommGetAsyncErrorFunction = int(Communicator, int* error);
using AllReduceFunction = int(const void* from, void* to, size_t count, int type, int operation,
                              Communicator, CUstream_st*);
using GetErrorStringFunction = const char*(int);

template <class Function>
Status Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return OkStatus();
  return FailedPrecondition(std::string("NCCL has no ") + name);
}

// The library stays loaded, as cuBLAS does.
Result<void*> Open() {
  std::string reason;
  for (const char* name : {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (reason.empty()) reason = dlerror();
  }
  return FailedPrecondition("cannot load NCCL: " + reason);
}

}  // namespace

struct Nccl::Library {
  GetVersionFunction* get_version = nullptr;
  GetUniqueIdFunction* get_unique_id = nullptr;
  CommInitRankFunction* init_rank = nullptr;
  CommAbortFunction* abort = nullptr;
  CommGetAsyncErrorFunction* get_async_error = nullptr;
  AllReduceFunction* all_reduce = nullptr;
  GetErrorStringFunction* error_string = nullptr;
};

Nccl::Nccl(std::unique_ptr<Library> library) : library_(std::move(library)) {}

Nccl::~Nccl() {
  if (communicator_ != nullptr) library_->abort(communicator_);
}

Status Nccl::Failure(int status, const char* call) const {
  if (status == kSuccess || status == kInProgress) return OkStatus();
  const std::string message = std::string(call) + ": " + library_->error_string(status);
  return status == kRemoteError ? Unavailable(message) : Internal(message);
}

Result<std::unique_ptr<Nccl>> Nccl::Load() {
  TUNE_ASSIGN_OR_RETURN(void* const library, Open());
  auto found = std::make_unique<Library>();
  TUNE_RETURN_IF_ERROR(Find(library, "ncclGetVersion", found->get_version));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclGetUniqueId", found->get_unique_id));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclCommInitRank", found->init_rank));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclCommAbort", found->abort));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclCommGetAsyncError", found->get_async_error));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclAllReduce", found->all_reduce));
  TUNE_RETURN_IF_ERROR(Find(library, "ncclGetErrorString", found->error_string));
  return std::unique_ptr<Nccl>(new Nccl(std::move(found)));
}

// 22809 is 2.28.9.
std::string Nccl::name() const {
  int version = 0;
  if (library_->get_version(&version) != kSuccess) return "NCCL";
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

Result<Nccl::Id> Nccl::NewId() const {
  UniqueId id = {};
  TUNE_RETURN_IF_ERROR(Failure(library_->get_unique_id(&id), "ncclGetUniqueId"));
  Id bytes;
  std::memcpy(bytes.data(), id.bytes, bytes.size());
  return bytes;
}

Status Nccl::Connect(const Id& id, int rank, int world_size) {
  UniqueId unique = {};
  std::memcpy(unique.bytes, id.data(), id.size());
  Communicator made = nullptr;
  TUNE_RETURN_IF_ERROR(
      Failure(library_->init_rank(&made, world_size, unique, rank), "ncclCommInitRank"));
  communicator_ = made;
  return OkStatus();
}

Status Nccl::Sum(float* data, int64_t count, CUstream_st* stream) {
  return Failure(library_->all_reduce(data, data, static_cast<size_t>(count), kFloat32, kSum,
                                      communicator_, stream),
                 "ncclAllReduce");
}

Status Nccl::Check() const {
  int error = kSuccess;
  TUNE_RETURN_IF_ERROR(
      Failure(library_->get_async_error(communicator_, &error), "ncclCommGetAsyncError"));
  return Failure(error, "ncclAllReduce");
}

}  // namespace tune::models::cuda
