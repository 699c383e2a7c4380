// A CUDA device as lane_network.h asks for one: memory, one stream, launches, cuBLAS products and
// captured graphs. (host_card.h is its twin without a card.)
//
// The first error is kept, with the call's name and the device's, and what is asked afterwards does
// nothing; Finish() waits and tells.
//
// Ranks add up on a stream of their own, which leaves the first one and comes back to it by events,
// so that a captured graph has both.
//
// Thread rule: one thread drives a card. Errors: kResourceExhausted where the device's memory, or
// this process's share of it, is too small, kFailedPrecondition where there is no device or no
// cuBLAS, kUnavailable where NCCL says that another rank is gone, else kInternal.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/status.h"
#include "models/cuda/blas.h"
#include "models/cuda/kernel.h"
#include "models/cuda/memory_budget.h"
#include "models/cuda/nccl.h"
#include "models/cuda/number.h"
#include "models/cuda/product.h"
#include "models/ranks/all_reduce.h"

namespace tune::models::cuda {

template <class Kernel, int... kPhase>
__device__ void RunPhases(const Kernel& kernel, const Thread& thread,
                          typename Kernel::Shared& shared, std::integer_sequence<int, kPhase...>) {
  ((kPhase > 0 ? __syncthreads() : void(), kernel.template Run<kPhase>(thread, shared)), ...);
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, ResidentBlocks<Kernel>())
    RunKernel(const Kernel kernel) {
  // Bytes, since what lies in shared memory may not have a constructor.
  alignas(16) __shared__ unsigned char bytes[sizeof(typename Kernel::Shared)];
  const Thread thread = {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                         static_cast<int>(blockIdx.z), static_cast<int>(threadIdx.x)};
  RunPhases(kernel, thread, *reinterpret_cast<typename Kernel::Shared*>(bytes),
            std::make_integer_sequence<int, Kernel::kPhases>());
}

class CudaCard {
 public:
  // What cudaMalloc gave. An error of cudaFree (of cudaFreeHost below) could only be one of an
  // earlier call, or of a process that ends.
  template <class T>
  class Array {
   public:
    Array() = default;
    Array(T* data, int64_t size, std::shared_ptr<MemoryBudget> budget)
        : data_(data, Free{std::move(budget), size * static_cast<int64_t>(sizeof(T))}),
          size_(size) {}
    T* data() const { return data_.get(); }
    int64_t size() const { return size_; }

   private:
    struct Free {
      Free() : budget(nullptr), bytes(0) {}
      Free(std::shared_ptr<MemoryBudget> taken_of, int64_t taken)
          : budget(std::move(taken_of)), bytes(taken) {}
      void operator()(T* data) const {
        cudaFree(data);
        budget->GiveBack(bytes);
      }
      std::shared_ptr<MemoryBudget> budget;
      int64_t bytes;
    };
    std::unique_ptr<T, Free> data_;
    int64_t size_ = 0;
  };

  // Memory of the host that the device reads by itself (pinned).
  template <class T>
  class HostArray {
   public:
    HostArray() = default;
    HostArray(T* data, int64_t size) : data_(data), size_(size) {}
    T* data() const { return data_.get(); }
    int64_t size() const { return size_; }

   private:
    struct Free {
      void operator()(T* data) const { cudaFreeHost(data); }
    };
    std::unique_ptr<T, Free> data_;
    int64_t size_ = 0;
  };

  // Copies to a card beside what it computes: a stream of its own.
  //
  // Thread rule: one thread at a time, and not while the card waits for it.
  class Copies {
   public:
    explicit Copies(const CudaCard& card);
    ~Copies();
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;

    // From memory of NewOnHost, which stays as it is until the copy was waited for.
    template <class T>
    void Start(const T* from, int64_t count, T* to) {
      Copy(from, count * static_cast<int64_t>(sizeof(T)), to);
    }

   private:
    friend class CudaCard;
    void Note(cudaError_t error, const char* call);
    void Copy(const void* from, int64_t bytes, void* to);

    const std::string name_;  // The device's.
    Status status_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t done_ = nullptr;
  };

  // The first device that this process may use, and of its memory what `budget` leaves; null: what
  // TUNE_GPU_MEMORY_BYTES does (memory_budget.h).
  static Result<std::unique_ptr<CudaCard>> Open(std::shared_ptr<MemoryBudget> budget = nullptr);
  ~CudaCard();
  CudaCard(const CudaCard&) = delete;
  CudaCard& operator=(const CudaCard&) = delete;

  const std::string& name() const { return name_; }
  const Status& status() const { return status_; }
  Status Finish();

  template <class T>
  Array<T> New(int64_t count) {
    return Array<T>(static_cast<T*>(Allocate(count * static_cast<int64_t>(sizeof(T)))), count,
                    budget_);
  }
  // What New would still give; something is kept back for graphs and cuBLAS's kernels, which the
  // driver allocates.
  int64_t FreeBytes();
  template <class T>
  HostArray<T> NewOnHost(int64_t count) {
    return HostArray<T>(static_cast<T*>(AllocateOnHost(count * static_cast<int64_t>(sizeof(T)))),
                        count);
  }
  // What is asked of the card from now on comes after all copies that were started; an error of
  // theirs is the card's from now on, too.
  void WaitFor(Copies& copies);

  // From and to memory of the host, which may be used again when they return.
  template <class T>
  void Upload(const T* from, int64_t count, T* to) {
    Copy(from, count * static_cast<int64_t>(sizeof(T)), to, cudaMemcpyHostToDevice);
  }
  template <class T>
  void Download(const T* from, int64_t count, T* to) {
    Copy(from, count * static_cast<int64_t>(sizeof(T)), to, cudaMemcpyDeviceToHost);
  }
  template <class T>
  void Zero(T* data, int64_t count) {
    Fill(data, count * static_cast<int64_t>(sizeof(T)));
  }

  template <class Kernel>
  void Launch(const Kernel& kernel, const Grid& grid) {
    if (!status_.ok()) return;
    const dim3 blocks(static_cast<unsigned>(grid.blocks_x), static_cast<unsigned>(grid.blocks_y),
                      static_cast<unsigned>(grid.lanes));
    Kernel copy = kernel;
    void* parameters[] = {&copy};
    Note(cudaLaunchKernel(&RunKernel<Kernel>, blocks, dim3(Kernel::kThreads), parameters, 0,
                          stream_),
         "cudaLaunchKernel");
  }

  template <class T>
  void Forward(const ProductShape& s, LaneMatrix<const T> x, LaneMatrix<const T> w,
               LaneMatrix<T> y) {
    Multiply({true, false, s.out, s.rows, s.in, s.lanes}, Of(w, s.in), Of(x, s.in), Of(y, s.out));
  }
  template <class T>
  void InputGradient(const ProductShape& s, LaneMatrix<const T> dy, LaneMatrix<const T> w,
                     LaneMatrix<T> dx) {
    Multiply({false, false, s.in, s.rows, s.out, s.lanes}, Of(w, s.in), Of(dy, s.out),
             Of(dx, s.in));
  }
  template <class T>
  void WeightGradient(const ProductShape& s, LaneMatrix<const T> dy, LaneMatrix<const T> x,
                      LaneMatrix<float> dw) {
    Multiply({false, true, s.in, s.out, s.rows, s.lanes}, Of(x, s.in), Of(dy, s.out), Of(dw, s.in));
  }

  // Ranks that train together, each with a card of its own, can add up numbers there from here on
  // (nccl_meeting.h, whose errors it has).
  Status JoinRanks(AllReduce& ranks);
  // In place, after what was asked for before; what is asked for next goes on beside it until
  // AwaitSums. All ranks ask alike.
  void SumOverRanks(float* data, int64_t count);
  void AwaitSums();

  // The first time for a key, `body` runs as it is, which loads what it needs; the second time it
  // is captured; from then on its graph is launched.
  template <class Body>
  void RunCaptured(int64_t key, Body&& body) {
    Captured& captured = graphs_[key];
    if (captured.graph != nullptr) return LaunchGraph(captured);
    if (captured.runs++ == 0) return body();
    if (!BeginCapture()) return;
    body();
    EndCapture(captured);
    LaunchGraph(captured);
  }

 private:
  struct Captured {
    int runs = 0;
    cudaGraphExec_t graph = nullptr;
  };

  static constexpr int64_t kKeptBackBytes = int64_t{256} << 20;

  CudaCard() = default;
  Status Start();
  void Note(cudaError_t error, const char* call);
  Status MakeRankStream();
  // Until all is done, or another rank is gone.
  void Wait();
  void* Allocate(int64_t bytes);
  void* AllocateOnHost(int64_t bytes);
  void Copy(const void* from, int64_t bytes, void* to, cudaMemcpyKind kind);
  void Fill(void* data, int64_t bytes);
  bool BeginCapture();
  void EndCapture(Captured& captured);
  void LaunchGraph(const Captured& captured);

  static BlasMatrix Of(LaneMatrix<const float> m, int row) {
    return {const_cast<float*>(m.data), m.stride, row, BlasNumber::kFloat};
  }
  static BlasMatrix Of(LaneMatrix<float> m, int row) {
    return {m.data, m.stride, row, BlasNumber::kFloat};
  }
  static BlasMatrix Of(LaneMatrix<const Bf16> m, int row) {
    return {const_cast<Bf16*>(m.data), m.stride, row, BlasNumber::kBf16};
  }
  static BlasMatrix Of(LaneMatrix<Bf16> m, int row) {
    return {m.data, m.stride, row, BlasNumber::kBf16};
  }
  void Multiply(const BlasProduct& product, const BlasMatrix& a, const BlasMatrix& b,
                const BlasMatrix& c);

  std::shared_ptr<MemoryBudget> budget_;
  std::string name_;  // "NVIDIA H200 (device 0)"
  Status status_;
  cudaStream_t stream_ = nullptr;
  Array<unsigned char> workspace_;  // cuBLAS's: it may not allocate while a graph is captured.
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Nccl> nccl_;  // Null: alone, or ranks that add up elsewhere.
  cudaStream_t rank_stream_ = nullptr;
  cudaEvent_t is_ready_ = nullptr, is_summed_ = nullptr;
  std::map<int64_t, Captured> graphs_;
};

// "cudaMalloc on NVIDIA H200 (device 0): out of memory".
Status CudaFailure(cudaError_t error, const char* call, const std::string& device);

}  // namespace tune::models::cuda
