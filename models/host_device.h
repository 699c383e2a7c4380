// TUNE_HOST_DEVICE: before an inline function that a card's kernels call as well as the processor.
// Where no CUDA compiler reads the source it says nothing.
#pragma once

#if defined(__CUDACC__)
#define TUNE_HOST_DEVICE __host__ __device__ inline
#define TUNE_UNROLL _Pragma("unroll")
#else
#define TUNE_HOST_DEVICE inline
#define TUNE_UNROLL
#endif
