// The order answers as PlaceTrial() does over all views, whatever was taken and given back.
#include "trial_runner/placement_order.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/random.h"

namespace tune {
namespace {

class Pool {
 public:
  explicit Pool(uint64_t seed) : random_(seed, "placement order") {}

  void Change() {
    const WorkerId id{static_cast<int64_t>(1 + random_.NextBelow(12))};
    const auto found = views_.find(id);
    if (found == views_.end()) return Add(id);
    order_.Erase(found->second);
    if (random_.NextBelow(16) == 0) {
      views_.erase(found);
      return;
    }
    WorkerView& view = found->second;
    if (random_.NextBelow(16) == 0) view.is_draining = true;
    view.free_cpu_milli = Below(view.capacity.cpu_milli);
    for (int64_t& free : view.free_gpu_milli) free = Below(kWholeMilli);
    for (size_t i = 0; i < view.free_gpu_memory.size(); ++i) {
      view.free_gpu_memory[i] = Below(view.capacity.devices[i].memory_bytes);
    }
    view.fuse_keys.assign(view.free_gpu_milli.size(), {});
    for (auto& counts : view.fuse_keys) {
      if (const std::string key = Key(); !key.empty()) counts[key] = 1;
    }
    order_.Insert(view);
  }

  void Compare() {
    constexpr int64_t kGpus[] = {0, 0, 250, 500, 750, 1000, 2000};
    ResourceRequest request;
    request.cpu_milli = 500 * static_cast<int64_t>(random_.NextBelow(6));
    request.gpu_milli = kGpus[random_.NextBelow(7)];
    request.gpu_memory_bytes = static_cast<int64_t>(random_.NextBelow(3)) * 8;
    request.learned_gpu_memory_bytes = static_cast<int64_t>(random_.NextBelow(3)) * 6;
    std::vector<WorkerView> all;
    for (const auto& [id, view] : views_) all.push_back(view);
    const std::string key = Key();
    const auto expected = PlaceTrial(request, all, key);
    const auto placed = order_.PlaceTrial(
        request, [this](WorkerId id) -> const WorkerView& { return views_.at(id); }, key);
    ASSERT_EQ(placed, expected);
    placed_count += placed.has_value();
    refused_count += !placed.has_value();
  }

  int64_t placed_count = 0;
  int64_t refused_count = 0;

 private:
  void Add(WorkerId id) {
    WorkerCapacity capacity;
    capacity.cpu_milli = 1000 * static_cast<int64_t>(1 + random_.NextBelow(3));
    const int64_t devices = static_cast<int64_t>(random_.NextBelow(4));
    for (int64_t i = 0; i < devices; ++i) {
      capacity.devices.push_back({i, "d", static_cast<int64_t>(random_.NextBelow(3)) * 12});
    }
    views_[id] = EmptyWorker(id, capacity);
    order_.Insert(views_[id]);
  }

  std::string Key() {
    constexpr const char* kKeys[] = {"", "one shape", "another shape"};
    return kKeys[random_.NextBelow(3)];
  }
  // In quarters, all of it and nothing often.
  int64_t Below(int64_t whole) { return whole / 4 * static_cast<int64_t>(random_.NextBelow(5)); }

  KeyedRandom random_;
  std::map<WorkerId, WorkerView> views_;
  PlacementOrder order_;
};

TEST(PlacementOrder, AnswersAsPlaceDoes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Pool pool(seed);
    for (int step = 0; step < 2000; ++step) {
      pool.Change();
      pool.Compare();
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(pool.placed_count, 200);
    EXPECT_GT(pool.refused_count, 200);
  }
}

}  // namespace
}  // namespace tune
