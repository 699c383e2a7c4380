#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/posix/environment.h"
#include "models/cuda/cuda_card.cuh"
#include "models/cuda/nccl_meeting.h"
#include "models/ranks/bucket_queue.h"

namespace tune::models::cuda {

Status CudaFailure(cudaError_t error, const char* call, const std::string& device) {
  const std::string message =
      std::string(call) + " on " + device + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) return ResourceExhausted(message);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    return FailedPrecondition(message);
  }
  return Internal(message);
}

namespace {

void Keep(cudaError_t error, const char* call, const std::string& device, Status& status) {
  if (error == cudaSuccess) return;
  if (status.ok()) status = CudaFailure(error, call, device);
  // What does not harm the device for good is forgotten there, or the next call would tell it as
  // its own.
  static_cast<void>(cudaGetLastError());
}

}  // namespace

Result<std::unique_ptr<CudaCard>> CudaCard::Open(std::shared_ptr<MemoryBudget> budget) {
  std::unique_ptr<CudaCard> card(new CudaCard());
  card->budget_ = std::move(budget);
  TUNE_RETURN_IF_ERROR(card->Start());
  return Result<std::unique_ptr<CudaCard>>(std::move(card));
}

Status CudaCard::Start() {
  if (budget_ == nullptr) {
    budget_ =
        std::make_shared<MemoryBudget>(BudgetOfShare(EnvironmentText("TUNE_GPU_MEMORY_BYTES")));
  }
  name_ = "device 0";
  int count = 0;
  Note(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  TUNE_RETURN_IF_ERROR(status_);
  if (count == 0) return FailedPrecondition("no CUDA device can be used here");
  Note(cudaSetDevice(0), "cudaSetDevice");
  cudaDeviceProp properties = {};
  Note(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  TUNE_RETURN_IF_ERROR(status_);
  name_ = std::string(properties.name) + " (device 0)";
  Note(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  workspace_ = New<unsigned char>(Blas::kWorkspaceBytes);
  TUNE_RETURN_IF_ERROR(status_);
  TUNE_ASSIGN_OR_RETURN(blas_, Blas::Open(stream_, workspace_.data()));
  return OkStatus();
}

// Errors of the ends of things are those of what ran before, which was noted, or of a process that
// ends.
CudaCard::~CudaCard() {
  if (stream_ != nullptr && nccl_ == nullptr) cudaStreamSynchronize(stream_);
  for (const auto& [key, captured] : graphs_) {
    if (captured.graph != nullptr) cudaGraphExecDestroy(captured.graph);
  }
  // After the graphs, for which it would wait; it ends sums that wait for a rank that is gone.
  nccl_.reset();
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  if (is_ready_ != nullptr) cudaEventDestroy(is_ready_);
  if (is_summed_ != nullptr) cudaEventDestroy(is_summed_);
  if (rank_stream_ != nullptr) cudaStreamDestroy(rank_stream_);
  blas_.reset();
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void CudaCard::Note(cudaError_t error, const char* call) { Keep(error, call, name_, status_); }

Status CudaCard::Finish() {
  Wait();
  return status_;
}

// A sum waits for the other ranks on the device, where nobody would tell it that one is gone.
void CudaCard::Wait() {
  if (!status_.ok()) return;
  if (nccl_ == nullptr) return Note(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  cudaError_t state = cudaStreamQuery(stream_);
  for (; status_.ok() && state == cudaErrorNotReady; state = cudaStreamQuery(stream_)) {
    // That it is not ready is no error, but would be told as the next launch's.
    static_cast<void>(cudaGetLastError());
    if (const Status others = nccl_->Check(); !others.ok()) status_ = others.At(name_);
    sched_yield();
  }
  if (status_.ok()) Note(state, "cudaStreamQuery");
}

Status CudaCard::MakeRankStream() {
  int least = 0, greatest = 0;
  Note(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  // Sums are short, and other ranks wait for them.
  Note(cudaStreamCreateWithPriority(&rank_stream_, cudaStreamNonBlocking, greatest),
       "cudaStreamCreateWithPriority");
  for (cudaEvent_t* event : {&is_ready_, &is_summed_}) {
    Note(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  return status_;
}

Status CudaCard::JoinRanks(AllReduce& ranks) {
  TUNE_RETURN_IF_ERROR(MakeRankStream());
  cudaDeviceProp properties = {};
  Note(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  TUNE_RETURN_IF_ERROR(status_);
  DeviceUuid uuid;
  static_assert(sizeof uuid == sizeof properties.uuid);
  std::memcpy(uuid.data(), &properties.uuid, sizeof uuid);
  TUNE_ASSIGN_OR_RETURN(nccl_, MeetByNccl(ranks, uuid));
  // NCCL takes its memory on the device with the first sum of a size: now, while there is some.
  const Array<float> first = New<float>(kBucketFloats);
  Zero(first.data(), first.size());
  SumOverRanks(first.data(), first.size());
  AwaitSums();
  return Finish();
}

void CudaCard::SumOverRanks(float* data, int64_t count) {
  if (!status_.ok() || count == 0) return;
  Note(cudaEventRecord(is_ready_, stream_), "cudaEventRecord");
  Note(cudaStreamWaitEvent(rank_stream_, is_ready_, 0), "cudaStreamWaitEvent");
  if (!status_.ok()) return;
  const Status asked = nccl_->Sum(data, count, rank_stream_);
  if (!asked.ok()) status_ = asked.At(name_);
}

void CudaCard::AwaitSums() {
  if (!status_.ok()) return;
  Note(cudaEventRecord(is_summed_, rank_stream_), "cudaEventRecord");
  Note(cudaStreamWaitEvent(stream_, is_summed_, 0), "cudaStreamWaitEvent");
}

void* CudaCard::Allocate(int64_t bytes) {
  if (!status_.ok() || bytes == 0) return nullptr;
  status_ = budget_->Take(bytes, name_);
  if (!status_.ok()) return nullptr;
  void* data = nullptr;
  Note(cudaMalloc(&data, static_cast<size_t>(bytes)), "cudaMalloc");
  if (data == nullptr) budget_->GiveBack(bytes);
  return data;
}

CudaCard::Copies::Copies(const CudaCard& card) : name_(card.name_) {
  Note(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  Note(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

CudaCard::Copies::~Copies() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  if (done_ != nullptr) cudaEventDestroy(done_);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

void CudaCard::Copies::Note(cudaError_t error, const char* call) {
  Keep(error, call, name_, status_);
}

void CudaCard::Copies::Copy(const void* from, int64_t bytes, void* to) {
  if (!status_.ok() || bytes == 0) return;
  Note(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream_),
       "cudaMemcpyAsync");
}

int64_t CudaCard::FreeBytes() {
  if (!status_.ok()) return 0;
  size_t free = 0, total = 0;
  Note(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const int64_t of_device = std::max<int64_t>(0, static_cast<int64_t>(free) - kKeptBackBytes);
  return std::min(of_device, budget_->left());
}

void* CudaCard::AllocateOnHost(int64_t bytes) {
  if (!status_.ok() || bytes == 0) return nullptr;
  void* data = nullptr;
  Note(cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault), "cudaHostAlloc");
  return data;
}

void CudaCard::WaitFor(Copies& copies) {
  if (status_.ok()) status_ = copies.status_;
  if (!status_.ok()) return;
  Note(cudaEventRecord(copies.done_, copies.stream_), "cudaEventRecord");
  Note(cudaStreamWaitEvent(stream_, copies.done_, 0), "cudaStreamWaitEvent");
}

void CudaCard::Copy(const void* from, int64_t bytes, void* to, cudaMemcpyKind kind) {
  if (!status_.ok() || bytes == 0) return;
  // A download waits for what was asked for before it.
  if (kind == cudaMemcpyDeviceToHost && nccl_ != nullptr) Wait();
  if (!status_.ok()) return;
  // From pageable memory: it is staged before the call returns.
  Note(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_), "cudaMemcpyAsync");
}

void CudaCard::Fill(void* data, int64_t bytes) {
  if (!status_.ok() || bytes == 0) return;
  Note(cudaMemsetAsync(data, 0, static_cast<size_t>(bytes), stream_), "cudaMemsetAsync");
}

void CudaCard::Multiply(const BlasProduct& product, const BlasMatrix& a, const BlasMatrix& b,
                        const BlasMatrix& c) {
  if (!status_.ok()) return;
  if (const Status multiplied = blas_->Multiply(product, a, b, c); !multiplied.ok()) {
    status_ = multiplied.At(name_);
  }
}

bool CudaCard::BeginCapture() {
  if (!status_.ok()) return false;
  Note(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  return status_.ok();
}

void CudaCard::EndCapture(Captured& captured) {
  cudaGraph_t graph = nullptr;
  Note(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");  // Always: it ends it.
  if (graph == nullptr) return;
  if (status_.ok()) Note(cudaGraphInstantiate(&captured.graph, graph, 0), "cudaGraphInstantiate");
  Note(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

void CudaCard::LaunchGraph(const Captured& captured) {
  if (!status_.ok()) return;
  Note(cudaGraphLaunch(captured.graph, stream_), "cudaGraphLaunch");
}

}  // namespace tune::models::cuda
