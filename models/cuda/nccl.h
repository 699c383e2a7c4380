// NCCL, found at run time, as cuBLAS is: sums over ranks, each of which has a device of its own, on
// a stream of each.
//
// NCCL makes connections of its own between ranks (docs/RANKS.md says what is open and where).
//
// Thread rule: as the card that owns it; Connect is called with its device current. Errors:
// kFailedPrecondition where there is no NCCL; kUnavailable where another rank is gone; else
// kInternal. All with the call's name.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"

struct CUstream_st;

namespace tune::models::cuda {

class Nccl {
 public:
  // By which ranks find each other; made by one of them, told to the others.
  using Id = std::array<uint8_t, 128>;

  static Result<std::unique_ptr<Nccl>> Load();
  // Ends sums that are under way. Graphs in which sums were captured are to be gone: it would wait
  // for them.
  ~Nccl();

  std::string name() const;  // "NCCL 2.28.9"
  Result<Id> NewId() const;
  // Waits for all the others.
  Status Connect(const Id& id, int rank, int world_size);

  // In place, the same bits on all ranks. All ask in the same order for as many.
  Status Sum(float* data, int64_t count, CUstream_st* stream);
  // Whether the others are there, as far as is known: one in the same machine may go unnoticed.
  Status Check() const;

 private:
  struct Library;
  explicit Nccl(std::unique_ptr<Library> library);
  Status Failure(int status, const char* call) const;

  const std::unique_ptr<Library> library_;
  void* communicator_ = nullptr;
};

}  // namespace tune::models::cuda
