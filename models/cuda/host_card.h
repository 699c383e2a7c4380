// A card that is the processor: the same kernels, one thread after the other, and plain matrix
// products. It is slow and only for tests: where there is no card, the whole network of lanes is
// compared on it with the CPU's.
//
// What a kernel reads before anything was written is a NaN here, in memory and in shared memory.
//
// Thread rule: one thread. Errors: kResourceExhausted, as a card has it, and those of the ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/status.h"
#include "models/cuda/kernel.h"
#include "models/cuda/memory_budget.h"
#include "models/cuda/number.h"
#include "models/cuda/product.h"
#include "models/ranks/all_reduce.h"

namespace tune::models::cuda {

class HostCard {
 public:
  template <class T>
  class Array {
   public:
    Array() = default;
    Array(int64_t count, std::shared_ptr<MemoryBudget> budget)
        : size_(count),
          data_(new (std::align_val_t{64}) T[Count(count)],
                Free{std::move(budget), count * static_cast<int64_t>(sizeof(T))}) {
      std::memset(static_cast<void*>(data_.get()), 0xff, Count(count) * sizeof(T));
    }
    T* data() const { return data_.get(); }
    int64_t size() const { return size_; }

   private:
    static size_t Count(int64_t count) { return static_cast<size_t>(count); }
    struct Free {
      Free() : budget(nullptr), bytes(0) {}
      Free(std::shared_ptr<MemoryBudget> taken_of, int64_t taken)
          : budget(std::move(taken_of)), bytes(taken) {}
      void operator()(T* data) const {
        operator delete[](data, std::align_val_t{64});
        if (budget != nullptr) budget->GiveBack(bytes);
      }
      std::shared_ptr<MemoryBudget> budget;
      int64_t bytes;
    };
    int64_t size_ = 0;
    std::unique_ptr<T[], Free> data_;
  };

  // `budget`: of its memory.
  explicit HostCard(MemoryBudget budget = MemoryBudget())
      : budget_(std::make_shared<MemoryBudget>(budget)) {}
  // That others take of, too.
  explicit HostCard(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  const MemoryBudget& budget() const { return *budget_; }

  // The first error so far; what is asked of a card after one does nothing.
  const Status& status() const { return status_; }
  // Waits until all is done.
  Status Finish() { return status_; }

  template <class T>
  Array<T> New(int64_t count) {
    if (!status_.ok()) return Array<T>();
    status_ = budget_->Take(count * static_cast<int64_t>(sizeof(T)), "the processor");
    return status_.ok() ? Array<T>(count, budget_) : Array<T>();
  }
  template <class T>
  using HostArray = Array<T>;

  // What New would still give.
  int64_t FreeBytes() const { return budget_->left(); }
  // Memory of the host that Copies may read.
  template <class T>
  HostArray<T> NewOnHost(int64_t count) {
    return status_.ok() ? Array<T>(count, nullptr) : Array<T>();
  }

  // Copies to a card beside what it computes. Here what was there is gone at once, and the copy is
  // made at the last moment, when it is waited for: who changes or reads too early is found out.
  //
  // Thread rule: one thread at a time, and not while the card waits for it.
  class Copies {
   public:
    explicit Copies(const HostCard& /*card*/) {}
    template <class T>
    void Start(const T* from, int64_t count, T* to) {
      started_.push_back({from, to, static_cast<size_t>(count) * sizeof(T)});
      std::memset(static_cast<void*>(to), 0xff, started_.back().bytes);
    }

   private:
    friend class HostCard;
    struct Started {
      const void* from;
      void* to;
      size_t bytes;
    };
    std::vector<Started> started_;
  };
  // What is asked of the card from now on comes after all copies that were started.
  void WaitFor(Copies& copies) {
    for (const Copies::Started& copy : copies.started_) {
      if (status_.ok()) std::memcpy(copy.to, copy.from, copy.bytes);
    }
    copies.started_.clear();
  }

  template <class T>
  void Upload(const T* from, int64_t count, T* to) {
    Copy(from, count, to);
  }
  template <class T>
  void Download(const T* from, int64_t count, T* to) {
    Copy(from, count, to);
  }
  template <class T>
  void Zero(T* data, int64_t count) {
    if (!status_.ok()) return;
    std::memset(static_cast<void*>(data), 0, static_cast<size_t>(count) * sizeof(T));
  }

  template <class Kernel>
  void Launch(const Kernel& kernel, const Grid& grid) {
    if (!status_.ok()) return;
    using Shared = typename Kernel::Shared;
    alignas(64) static thread_local unsigned char bytes[sizeof(Shared)];
    for (int lane = 0; lane < grid.lanes; ++lane) {
      for (int64_t y = 0; y < grid.blocks_y; ++y) {
        for (int64_t x = 0; x < grid.blocks_x; ++x) {
          std::memset(bytes, 0xff, sizeof(bytes));
          const Thread block = {static_cast<int>(x), static_cast<int>(y), lane, 0};
          RunPhases(kernel, block, *reinterpret_cast<Shared*>(bytes),
                    std::make_integer_sequence<int, Kernel::kPhases>());
        }
      }
    }
  }

  template <class T>
  void Forward(const ProductShape& s, LaneMatrix<const T> x, LaneMatrix<const T> w,
               LaneMatrix<T> y) {
    Multiply(s.lanes, s.rows, s.out, s.in, View<T>{x, s.in, 1}, View<T>{w, 1, s.in}, y);
  }
  template <class T>
  void InputGradient(const ProductShape& s, LaneMatrix<const T> dy, LaneMatrix<const T> w,
                     LaneMatrix<T> dx) {
    Multiply(s.lanes, s.rows, s.in, s.out, View<T>{dy, s.out, 1}, View<T>{w, s.in, 1}, dx);
  }
  template <class T>
  void WeightGradient(const ProductShape& s, LaneMatrix<const T> dy, LaneMatrix<const T> x,
                      LaneMatrix<float> dw) {
    Multiply(s.lanes, s.out, s.in, s.rows, View<T>{dy, 1, s.out}, View<T>{x, s.in, 1}, dw);
  }

  // `ranks` outlives the card.
  Status JoinRanks(AllReduce& ranks) {
    ranks_ = &ranks;
    return OkStatus();
  }
  // In place. What is asked for next may touch them only after AwaitSums.
  void SumOverRanks(float* data, int64_t count) {
    if (status_.ok()) status_ = ranks_->Sum(std::span(data, static_cast<size_t>(count)));
  }
  void AwaitSums() {}

  // Runs `body`, which asks this card alone and in the same way each time for the same key.
  template <class Body>
  void RunCaptured(int64_t /*key*/, Body&& body) {
    body();
  }

 private:
  template <class T>
  struct View {
    LaneMatrix<const T> matrix;
    int64_t row_stride, column_stride;
    float At(int lane, int64_t row, int64_t column) const {
      return ToFloat(matrix.data[lane * matrix.stride + row * row_stride + column * column_stride]);
    }
  };

  // c (m, n) = a (m, k) b (k, n)
  template <class T, class C>
  void Multiply(int lanes, int64_t m, int64_t n, int64_t k, const View<T>& a, const View<T>& b,
                LaneMatrix<C> c) const {
    if (!status_.ok()) return;
    std::vector<float> rows(static_cast<size_t>(k * n)), sums(static_cast<size_t>(n));
    for (int lane = 0; lane < lanes; ++lane) {
      for (int64_t i = 0; i < k * n; ++i) rows[static_cast<size_t>(i)] = b.At(lane, i / n, i % n);
      for (int64_t row = 0; row < m; ++row) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int64_t i = 0; i < k; ++i) {
          const float factor = a.At(lane, row, i);
          const float* const from = rows.data() + i * n;
          for (size_t column = 0; column < sums.size(); ++column) {
            sums[column] += factor * from[column];
          }
        }
        C* const to = c.data + lane * c.stride + row * n;
        for (size_t column = 0; column < sums.size(); ++column) Put(sums[column], to + column);
      }
    }
  }

  template <class Kernel, int... kPhase>
  static void RunPhases(const Kernel& kernel, const Thread& block, typename Kernel::Shared& shared,
                        std::integer_sequence<int, kPhase...>) {
    const auto run = [&]<int kThis>() {
      Thread thread = block;
      for (thread.index = 0; thread.index < Kernel::kThreads; ++thread.index) {
        kernel.template Run<kThis>(thread, shared);
      }
    };
    (run.template operator()<kPhase>(), ...);
  }

  template <class T>
  void Copy(const T* from, int64_t count, T* to) const {
    if (!status_.ok() || count == 0) return;
    std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(count) * sizeof(T));
  }

  Status status_;
  AllReduce* ranks_ = nullptr;
  const std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace tune::models::cuda
