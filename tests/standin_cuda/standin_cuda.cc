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
// line: a kernel that was given memory of the host or memory that is freed, threads that do not all
// come to __syncthreads. The device's memory is out of the host's reach but while work is done.
// What CUDA refuses is refused with its error: among others calls that a capture does not allow,
// work of a capture that does not come back to its stream, grids that are too large. Memory that
// nobody has written is NaN.
//
// The device has TUNE_STANDIN_CUDA_BYTES of memory, 2 GiB unless it is set.
//
// Thread rule: any; one call at a time.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/standin_cuda/blocks.h"
#include "tests/standin_cuda/device.h"

namespace {

using standin_cuda::Add;
using standin_cuda::AllAsked;
using standin_cuda::Capture;
using standin_cuda::CapturePointer;
using standin_cuda::CheckParameters;
using standin_cuda::Device;
using standin_cuda::device_of_thread;
using standin_cuda::Die;
using standin_cuda::FindRoom;
using standin_cuda::InPages;
using standin_cuda::IsDone;
using standin_cuda::IsForbidden;
using standin_cuda::IsJoined;
using standin_cuda::IsKnown;
using standin_cuda::IsOnDevice;
using standin_cuda::IsPinned;
using standin_cuda::Join;
using standin_cuda::Lock;
using standin_cuda::MemoryOpen;
using standin_cuda::RunOne;
using standin_cuda::RunSome;
using standin_cuda::RunUntilDone;
using standin_cuda::Tail;
using standin_cuda::TheDevice;
using standin_cuda::Work;
using standin_cuda::WorkPointer;

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t Answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

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
  *data = std::aligned_alloc(InPages(1), InPages(bytes));
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
