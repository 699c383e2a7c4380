#include "tests/standin_cuda/blocks.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace standin_cuda {
namespace {

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
    // Turned, and perhaps reversed: nearly as good as any order, and cheap.
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

}  // namespace

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

}  // namespace standin_cuda

thread_local dim3 blockIdx, threadIdx;

void __syncthreads() {
  boost::context::fiber* const block = standin_cuda::block_of_thread;
  *block = std::move(*block).resume();
  standin_cuda::block_of_thread = block;
}
