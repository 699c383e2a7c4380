// What stands in a device's place (standin_cuda.cc): what was asked of it, its memory, and when
// what was asked happens.
//
// Thread rule: whoever calls holds the device's mutex.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/standin_cuda/cuda_runtime.h"

namespace standin_cuda {

// ---- what is asked for

struct Work;
using WorkPointer = std::shared_ptr<Work>;
// What something comes after.
using Tail = std::vector<WorkPointer>;

struct Work {
  std::function<void()> run;
  std::function<bool()> is_ready;
  Tail after;
  int device = 0;
  bool is_done = false;
};

struct Capture {
  cudaStream_t origin = nullptr;
  std::thread::id thread;
  std::vector<WorkPointer> works;  // Each comes after those it waits for.
  bool is_valid = true;
  bool is_ended = false;
};
using CapturePointer = std::shared_ptr<Capture>;

}  // namespace standin_cuda

struct CUstream_st {
  int device = 0;
  standin_cuda::Tail tail;
  standin_cuda::CapturePointer capture;
  standin_cuda::Tail tail_before_capture;
};
struct CUevent_st {
  standin_cuda::Tail tail;
  standin_cuda::CapturePointer capture;
};
struct CUgraph_st {
  std::vector<standin_cuda::WorkPointer> works;
};
struct CUgraphExec_st {
  std::vector<standin_cuda::WorkPointer> works;
};

namespace standin_cuda {

// ---- the device

struct Device {
  Device();

  std::mutex mutex;
  std::condition_variable asked;
  std::mt19937_64 random;
  std::vector<WorkPointer> waiting;  // Asked for and not done; not what is captured.
  std::set<cudaStream_t> streams;
  std::map<std::uintptr_t, size_t> allocations, pinned;  // Begin and bytes.
  size_t bytes = 0;
  size_t taken = 0;
  std::uintptr_t arena = 0, arena_end = 0;  // Addresses, twice the memory: it is never packed.

  size_t Draw(size_t below) { return random() % below; }
};
Device& TheDevice();
using Lock = std::unique_lock<std::mutex>;

// That a rank's thread uses.
extern thread_local int device_of_thread;

// Ends the program.
[[noreturn]] void Die(const char* what);

// ---- memory

// While work is done.
class MemoryOpen {
 public:
  explicit MemoryOpen(const Device& device);
  ~MemoryOpen();

 private:
  const Device& device_;
};

size_t InPages(size_t bytes);
// Whether all of it is of one allocation.
bool IsOnDevice(const Device& device, const void* data, size_t bytes);
bool IsPinned(const Device& device, const void* data, size_t bytes);
// The first gap of the arena. 0: none.
std::uintptr_t FindRoom(Device& device, size_t bytes);
// A kernel's parameters hold no pointer to memory that a device cannot read.
void CheckParameters(const Device& device, const void* parameters, size_t bytes);

// ---- when it happens

// One that is drawn, while the memory is open. False: none may run.
bool RunOne(Device& device);
// The device is sometimes quick.
void RunSome(Device& device);
bool IsDone(const Tail& tail);
void RunUntilDone(Device& device, Lock& lock, const Tail& tail);
// What the thread's device was asked for.
Tail AllAsked(const Device& device);

// ---- streams

bool IsKnown(const Device& device, cudaStream_t stream);
void Join(Tail& tail, const Tail& others);
// After what was asked of the stream before.
cudaError_t Add(Device& device, cudaStream_t stream, std::function<void()> run,
                std::function<bool()> is_ready = nullptr);

// ---- captures

// What a capture of this thread does not allow ends it.
bool IsForbidden(const Device& device);
// Whether all of the capture comes before the end of the stream that began it.
bool IsJoined(const Capture& capture, const Tail& end);

}  // namespace standin_cuda
