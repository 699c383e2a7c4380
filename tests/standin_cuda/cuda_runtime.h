// In the place of NVIDIA's cuda_runtime.h, for tests: the calls that models/cuda makes, with the
// names and, as far as we use it, the meaning of NVIDIA's. `standin_cuda.cc` says what its device
// does. A source of CUDA that launches by cudaLaunchKernel compiles as C++ with it.
#pragma once

#include <cstddef>
#include <functional>

#define __global__
#define __device__
#define __launch_bounds__(...)
// One block runs at a time, on one thread of the processor.
#define __shared__ static thread_local

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
using cudaStream_t = CUstream_st*;
using cudaEvent_t = CUevent_st*;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorCapturedEvent = 907,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocDefault = 0;

struct cudaDeviceProp {
  char name[256];
  struct {
    char bytes[16];
  } uuid;
};

struct dim3 {
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
  unsigned x, y, z;
};

// Of the thread of the device that runs.
extern thread_local dim3 blockIdx, threadIdx;
void __syncthreads();

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaMalloc(void** data, size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* data);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);

// On the device, and at once.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);

// ---- the device's, for what stands in the place of libraries that use it

namespace standin_cuda {

// The calling thread's device from now on, 0 before: a rank's own. Devices share the memory and
// differ in what cudaFree waits for and in their UUID.
void UseDevice(int device);

// After what was asked of the stream before. `is_ready`, if there is one, says when it may begin.
// What it does may touch the device's memory.
cudaError_t Enqueue(cudaStream_t stream, std::function<void()> work,
                    std::function<bool()> is_ready = nullptr);

// A kernel's launch: `parameters` are its bytes; `thread` is what each thread of the grid does.
cudaError_t Launch(dim3 grid, dim3 block, const void* parameters, size_t bytes,
                   std::function<void()> thread, cudaStream_t stream);

}  // namespace standin_cuda

template <class Kernel>
cudaError_t cudaLaunchKernel(void (*entry)(Kernel), dim3 grid, dim3 block, void** arguments,
                             size_t /*shared_bytes*/, cudaStream_t stream) {
  auto kernel = *static_cast<const Kernel*>(arguments[0]);
#if __has_builtin(__builtin_clear_padding)
  __builtin_clear_padding(&kernel);  // What was there may look like a pointer.
#endif
  return standin_cuda::Launch(
      grid, block, &kernel, sizeof kernel, [entry, kernel] { entry(kernel); }, stream);
}
