// A device in the place of NVIDIA's, on the processor, for tests: memory, streams, events, graphs
// and launches, as unhelpful as a real one may be. (host_card.h tries kernels; this tries what
// calls them.)
//
// Nothing that is asked of a stream happens before it must. What may happen next, of all streams
// and of a graph's branches, is drawn: by TUNE_STANDIN_CUDA_SEED, 1 unless it is set. So what was
// not waited for is not there, what is changed or freed too early is gone, and a missing event is
// found with some seed. The blocks of a launch and the threads of a block run in a drawn order, and
// each thread runs until the others must be waited for.
//
// What a device would hang, crash or go wrong with, or would do by luck, ends the program with a
// line: the host touching the device's memory (which it can only while work is done), a kernel that
// was given memory of the host or memory that is freed, threads that do not all come to
// __syncthreads. What CUDA refuses is refused with its error: among others calls that a capture
// does not allow, work of a capture that does not come back to its stream, grids that are too
// large. Memory that nobody has written is NaN.
//
// The device has TUNE_STANDIN_CUDA_BYTES of memory, 2 GiB unless it is set.
//
// Thread rule: any; one call at a time.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/standin_cuda/cuda_runtime.h"

namespace {

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

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "standin_cuda: %s\n", what);
  std::abort();
}

uint64_t Setting(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

struct CUstream_st {
  int device = 0;
  Tail tail;
  CapturePointer capture;
  Tail tail_before_capture;
};
struct CUevent_st {
  Tail tail;
  CapturePointer capture;
};
struct CUgraph_st {
  std::vector<WorkPointer> works;
};
struct CUgraphExec_st {
  std::vector<WorkPointer> works;
};

namespace {

// ---- the device

struct Device {
  std::mutex mutex;
  std::condition_variable asked;
  std::mt19937_64 random{Setting("TUNE_STANDIN_CUDA_SEED", 1)};
  std::vector<WorkPointer> waiting;  // Asked for and not done; not what is captured.
  std::set<cudaStream_t> streams;
  std::map<std::uintptr_t, size_t> allocations, pinned;  // Begin and bytes.
  const size_t bytes = Setting("TUNE_STANDIN_CUDA_BYTES", uint64_t{2} << 30);
  size_t taken = 0;
  std::uintptr_t arena = 0, arena_end = 0;  // Addresses, twice the memory: it is never packed.

  size_t Draw(size_t below) { return random() % below; }
};
Device& TheDevice() {
  static Device& device = *new Device();
  return device;
}
using Lock = std::unique_lock<std::mutex>;

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t Answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// ---- memory

size_t PageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
size_t InPages(size_t bytes) { return (bytes + PageBytes() - 1) / PageBytes() * PageBytes(); }

void Allow(const Device& device, int protection) {
  if (device.arena == 0) return;
  if (mprotect(reinterpret_cast<void*>(device.arena), device.arena_end - device.arena,
               protection) != 0) {
    Die("mprotect failed");
  }
}

// While work is done.
class MemoryOpen {
 public:
  explicit MemoryOpen(const Device& device) : device_(device) {
    Allow(device_, PROT_READ | PROT_WRITE);
  }
  ~MemoryOpen() { Allow(device_, PROT_NONE); }

 private:
  const Device& device_;
};

// Whether all of it is of one allocation.
bool IsIn(const std::map<std::uintptr_t, size_t>& allocations, const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  auto found = allocations.upper_bound(begin);
  if (found == allocations.begin()) return false;
  --found;
  return begin + bytes <= found->first + found->second;
}
bool IsOnDevice(const Device& device, const void* data, size_t bytes) {
  return IsIn(device.allocations, data, bytes);
}
bool IsPinned(const Device& device, const void* data, size_t bytes) {
  return IsIn(device.pinned, data, bytes);
}

// The first gap of the arena. 0: none.
std::uintptr_t FindRoom(Device& device, size_t bytes) {
  if (device.arena == 0) {
    const size_t size = 2 * InPages(device.bytes);
    void* const mapped =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) Die("there are no addresses for the device's memory");
    device.arena = reinterpret_cast<std::uintptr_t>(mapped);
    device.arena_end = device.arena + size;
  }
  std::uintptr_t begin = device.arena;
  for (const auto& [taken_begin, taken_bytes] : device.allocations) {
    if (taken_begin - begin >= bytes) break;
    begin = taken_begin + InPages(taken_bytes);
  }
  return device.arena_end - begin >= bytes ? begin : 0;
}

// A kernel's parameters hold no pointer to memory that a device cannot read.
void CheckParameters(const Device& device, const void* parameters, size_t bytes) {
  for (size_t i = 0; i + sizeof(std::uintptr_t) <= bytes; i += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(parameters) + i, sizeof word);
    const auto* const address = reinterpret_cast<const void*>(word);
    if (word >= device.arena && word < device.arena_end) {
      if (!IsOnDevice(device, address, 0)) {
        Die("a kernel was given memory of the device that is not allocated");
      }
      continue;
    }
    // What is no pointer is hardly ever where the host has memory.
    if (word >> 32 == 0 || word >> 47 != 0 || IsPinned(device, address, 0)) continue;
    void* const page = reinterpret_cast<void*>(word / PageBytes() * PageBytes());
    if (msync(page, PageBytes(), MS_ASYNC) == 0) Die("a kernel was given memory of the host");
  }
}

// ---- threads of the device

thread_local boost::context::fiber* block_of_thread = nullptr;

// Threads of a block, on fibers that are used again by the next.
class Block {
 public:
  // In a drawn order, the same between any two __syncthreads.
  void Run(const std::function<void()>& thread, dim3 threads, dim3 index, Device& device) {
    thread_ = &thread;
    const size_t count = threads.x;
    while (fibers_.size() < count) fibers_.push_back(MakeFiber(fibers_.size()));
    order_.resize(count);
    for (size_t i = 0; i < count; ++i) order_[i] = i;
    // Every other thread is another's neighbour: as good as any order, and cheap.
    const size_t first = device.Draw(count);
    if (device.Draw(2) == 0) std::reverse(order_.begin(), order_.end());
    std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(first), order_.end());
    is_done_.assign(count, false);
    for (size_t done_count = 0; done_count < count;) {
      done_count = 0;
      for (const size_t i : order_) {
        blockIdx = index;
        threadIdx = dim3(static_cast<unsigned>(i), 0, 0);
        fibers_[i] = std::move(fibers_[i]).resume();
        done_count += is_done_[i] ? 1 : 0;
      }
      if (done_count != 0 && done_count != count) {
        Die("some threads of a block wait in __syncthreads for others that have ended");
      }
    }
  }

 private:
  boost::context::fiber MakeFiber(size_t index) {
    return boost::context::fiber(std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
                                 [this, index](boost::context::fiber&& block) {
                                   for (;;) {
                                     block_of_thread = &block;
                                     (*thread_)();
                                     is_done_[index] = true;
                                     block = std::move(block).resume();
                                   }
                                   return std::move(block);
                                 });
  }

  static constexpr size_t kStackBytes = 64 << 10;
  const std::function<void()>* thread_ = nullptr;
  std::vector<boost::context::fiber> fibers_;
  std::vector<size_t> order_;
  std::vector<bool> is_done_;
};

void RunGrid(const std::function<void()>& thread, dim3 grid, dim3 block, Device& device) {
  static thread_local Block threads;
  std::vector<dim3> blocks;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) blocks.emplace_back(x, y, z);
    }
  }
  std::shuffle(blocks.begin(), blocks.end(), device.random);
  for (const dim3& index : blocks) threads.Run(thread, block, index, device);
}

// ---- when it happens

bool MayRun(const Work& work) {
  return std::all_of(work.after.begin(), work.after.end(),
                     [](const WorkPointer& before) { return before->is_done; }) &&
         (work.is_ready == nullptr || work.is_ready());
}

// One that is drawn, while the memory is open. False: none may run.
bool RunOne(Device& device) {
  std::vector<size_t> able;
  for (size_t i = 0; i < device.waiting.size(); ++i) {
    if (MayRun(*device.waiting[i])) able.push_back(i);
  }
  if (able.empty()) return false;
  const size_t drawn = able[device.Draw(able.size())];
  const WorkPointer work = device.waiting[drawn];
  device.waiting.erase(device.waiting.begin() + static_cast<std::ptrdiff_t>(drawn));
  work->run();
  work->is_done = true;
  work->run = nullptr;
  work->after.clear();
  device.asked.notify_all();
  return true;
}

bool IsDone(const Tail& tail) {
  return std::all_of(tail.begin(), tail.end(),
                     [](const WorkPointer& work) { return work->is_done; });
}

// What the thread's device was asked for.
Tail AllAsked(const Device& device) {
  Tail asked;
  std::copy_if(device.waiting.begin(), device.waiting.end(), std::back_inserter(asked),
               [](const WorkPointer& work) { return work->device == device_of_thread; });
  return asked;
}

void RunUntilDone(Device& device, Lock& lock, const Tail& tail) {
  while (!IsDone(tail)) {
    {
      const MemoryOpen open(device);
      while (!IsDone(tail) && RunOne(device)) {
      }
    }
    // Another thread may have to ask for something first: of NCCL's sums.
    if (!IsDone(tail)) device.asked.wait(lock);
  }
}

// The device is sometimes quick.
void RunSome(Device& device) {
  if (device.Draw(16) != 0) return;
  const MemoryOpen open(device);
  for (size_t count = device.Draw(16); count > 0 && RunOne(device);) --count;
}

// ---- captures

// What a capture of this thread does not allow ends it.
bool IsForbidden(const Device& device) {
  bool is_forbidden = false;
  for (const cudaStream_t stream : device.streams) {
    if (stream->capture == nullptr || stream->capture->thread != std::this_thread::get_id())
      continue;
    stream->capture->is_valid = false;
    is_forbidden = true;
  }
  return is_forbidden;
}

void Join(Tail& tail, const Tail& others) {
  for (const WorkPointer& work : others) {
    if (!work->is_done && std::find(tail.begin(), tail.end(), work) == tail.end()) {
      tail.push_back(work);
    }
  }
}

bool IsKnown(const Device& device, cudaStream_t stream) {
  return stream != nullptr && device.streams.contains(stream);
}

cudaError_t Add(Device& device, cudaStream_t stream, std::function<void()> run,
                std::function<bool()> is_ready = nullptr) {
  if (!IsKnown(device, stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture != nullptr && !stream->capture->is_valid) {
    return cudaErrorStreamCaptureInvalidated;
  }
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  work->is_ready = std::move(is_ready);
  work->after = std::exchange(stream->tail, {work});
  work->device = stream->device;
  if (stream->capture != nullptr) {
    stream->capture->works.push_back(std::move(work));
    return cudaSuccess;
  }
  device.waiting.push_back(std::move(work));
  device.asked.notify_all();
  RunSome(device);
  return cudaSuccess;
}

// Whether all of the capture comes before the end of the stream that began it.
bool IsJoined(const Capture& capture, const Tail& end) {
  std::set<WorkPointer> before(end.begin(), end.end());
  for (auto work = capture.works.rbegin(); work != capture.works.rend(); ++work) {
    if (!before.contains(*work)) return false;
    before.insert((*work)->after.begin(), (*work)->after.end());
  }
  return true;
}

}  // namespace

// ---- what a kernel sees

thread_local dim3 blockIdx, threadIdx;

void __syncthreads() {
  boost::context::fiber* const block = block_of_thread;
  *block = std::move(*block).resume();
  block_of_thread = block;
}

// ---- errors, the device

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnmatched:
      return "capture was not initiated in this stream";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaGetDeviceCount(int* count) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  *count = visible == nullptr || *visible != 0 ? 1 : 0;
  return Answer(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  return Answer(device == 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return Answer(cudaErrorInvalidValue);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "the processor in a device's place");
  std::memset(properties->uuid.bytes, 0x5a, sizeof properties->uuid.bytes);
  properties->uuid.bytes[0] = static_cast<char>(device_of_thread);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  *free = device.bytes - device.taken;
  *total = device.bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Device& device = TheDevice();
  Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  RunUntilDone(device, lock, AllAsked(device));
  return cudaSuccess;
}

// ---- memory

cudaError_t cudaMalloc(void** data, size_t bytes) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  *data = nullptr;
  if (bytes > device.bytes - device.taken) return Answer(cudaErrorMemoryAllocation);
  const std::uintptr_t begin = FindRoom(device, InPages(bytes));
  if (begin == 0) return Answer(cudaErrorMemoryAllocation);
  device.allocations[begin] = bytes;
  device.taken += bytes;
  *data = reinterpret_cast<void*>(begin);
  const MemoryOpen open(device);
  std::memset(*data, 0xff, InPages(bytes));
  return cudaSuccess;
}

// It waits for the device.
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  Device& device = TheDevice();
  Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  const auto found = device.allocations.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == device.allocations.end()) return Answer(cudaErrorInvalidValue);
  RunUntilDone(device, lock, AllAsked(device));
  device.taken -= found->second;
  madvise(data, InPages(found->second), MADV_DONTNEED);
  device.allocations.erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned /*flags*/) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  *data = std::aligned_alloc(PageBytes(), InPages(bytes));
  if (*data == nullptr) return Answer(cudaErrorMemoryAllocation);
  std::memset(*data, 0xff, bytes);
  device.pinned[reinterpret_cast<std::uintptr_t>(*data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  if (data == nullptr) return cudaSuccess;
  Device& device = TheDevice();
  Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  if (device.pinned.erase(reinterpret_cast<std::uintptr_t>(data)) == 0) {
    return Answer(cudaErrorInvalidValue);
  }
  RunUntilDone(device, lock, AllAsked(device));
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (IsForbidden(device)) return Answer(cudaErrorStreamCaptureUnsupported);
  if (kind != cudaMemcpyDeviceToDevice || !IsOnDevice(device, to, bytes) ||
      !IsOnDevice(device, from, bytes)) {
    return Answer(cudaErrorInvalidValue);
  }
  const MemoryOpen open(device);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  Device& device = TheDevice();
  Lock lock(device.mutex);
  const bool uploads = kind == cudaMemcpyHostToDevice;
  const void* const on_device = uploads ? to : from;
  const void* const on_host = uploads ? from : to;
  if (!IsOnDevice(device, on_device, bytes) || IsOnDevice(device, on_host, 0)) {
    return Answer(cudaErrorInvalidValue);
  }
  if (IsPinned(device, on_host, bytes)) {
    return Answer(Add(device, stream, [=] { std::memcpy(to, from, bytes); }));
  }
  // What comes of it when a graph is launched later is nobody's memory any more.
  if (IsKnown(device, stream) && stream->capture != nullptr) {
    Die("a copy of memory that is not pinned is captured");
  }
  if (uploads) {
    const auto* const begin = static_cast<const char*>(from);
    return Answer(Add(device, stream, [to, staged = std::vector<char>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    }));
  }
  const cudaError_t added = Add(device, stream, [=] { std::memcpy(to, from, bytes); });
  if (added != cudaSuccess) return Answer(added);
  RunUntilDone(device, lock, Tail(stream->tail));
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsOnDevice(device, data, bytes)) return Answer(cudaErrorInvalidValue);
  return Answer(Add(device, stream, [=] { std::memset(data, value, bytes); }));
}

// ---- streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  *stream = *device.streams.insert(new CUstream_st()).first;
  (*stream)->device = device_of_thread;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int /*priority*/) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  device.streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Device& device = TheDevice();
  Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return Answer(cudaErrorStreamCaptureUnsupported);
  }
  RunUntilDone(device, lock, Tail(stream->tail));
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return Answer(cudaErrorStreamCaptureUnsupported);
  }
  {
    const MemoryOpen open(device);
    RunOne(device);
  }
  return Answer(IsDone(stream->tail) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = new CUevent_st();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  event->tail = stream->tail;
  event->capture = stream->capture;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  if (event->capture != nullptr && event->capture->is_ended) return Answer(cudaErrorCapturedEvent);
  if (event->capture != stream->capture) {
    if (stream->capture != nullptr) {
      stream->capture->is_valid = false;
      return Answer(cudaErrorStreamCaptureIsolation);
    }
    // From here on the stream is captured, too.
    stream->capture = event->capture;
    stream->tail_before_capture = std::exchange(stream->tail, {});
  }
  Join(stream->tail, event->tail);
  return cudaSuccess;
}

// ---- graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) return Answer(cudaErrorStreamCaptureUnsupported);
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->thread = std::this_thread::get_id();
  stream->tail_before_capture = std::exchange(stream->tail, {});
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  *graph = nullptr;
  if (!IsKnown(device, stream) || stream->capture == nullptr || stream->capture->origin != stream) {
    return Answer(cudaErrorStreamCaptureUnmatched);
  }
  const CapturePointer capture = stream->capture;
  const bool is_joined = IsJoined(*capture, stream->tail);
  capture->is_ended = true;
  for (const cudaStream_t each : device.streams) {
    if (each->capture != capture) continue;
    each->capture = nullptr;
    each->tail = std::exchange(each->tail_before_capture, {});
  }
  if (!capture->is_valid) return Answer(cudaErrorStreamCaptureInvalidated);
  if (!is_joined) return Answer(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{capture->works};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  *made = new CUgraphExec_st{graph->works};
  return cudaSuccess;
}

// Its branches go on beside each other.
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (!IsKnown(device, stream)) return Answer(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) Die("a graph's launch is captured, which is not built");
  std::map<WorkPointer, WorkPointer> launched;
  Tail end;
  for (const WorkPointer& captured : graph->works) {
    auto work = std::make_shared<Work>(*captured);
    for (WorkPointer& before : work->after) before = launched.at(before);
    if (work->after.empty()) work->after = stream->tail;
    launched[captured] = work;
    device.waiting.push_back(work);
    end.push_back(std::move(work));
  }
  if (!end.empty()) stream->tail = std::move(end);
  device.asked.notify_all();
  RunSome(device);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

// ---- launches

namespace standin_cuda {

void UseDevice(int device) { device_of_thread = device; }

cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work,
                    std::function<bool()> is_ready) {
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  return Answer(Add(device, stream, std::move(work), std::move(is_ready)));
}

cudaError_t Launch(dim3 grid, dim3 block, const void* parameters, size_t bytes,
                   std::function<void()> thread, cudaStream_t stream) {
  constexpr unsigned kSideMax = 65'535, kThreadsMax = 1024;
  constexpr size_t kParameterBytesMax = 4096;
  Device& device = TheDevice();
  const Lock lock(device.mutex);
  if (grid.x == 0 || grid.x > 0x7fff'ffffu || grid.y == 0 || grid.y > kSideMax || grid.z == 0 ||
      grid.z > kSideMax || block.x == 0 || block.x > kThreadsMax || block.y != 1 || block.z != 1 ||
      bytes > kParameterBytesMax) {
    return Answer(cudaErrorInvalidConfiguration);
  }
  CheckParameters(device, parameters, bytes);
  return Answer(Add(device, stream, [=, &device, thread = std::move(thread)] {
    RunGrid(thread, grid, block, device);
  }));
}

}  // namespace standin_cuda

// For libraries that may be without this one, too.
extern "C" int standin_cuda_enqueue(void* stream, std::function<void()> work,
                                    std::function<bool()> is_ready) {
  return standin_cuda::Enqueue(static_cast<cudaStream_t>(stream), std::move(work),
                               std::move(is_ready));
}
