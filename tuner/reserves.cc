#include "tuner/reserves.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tune {
namespace {

WorkerView& At(std::vector<WorkerView>& workers, WorkerId id) {
  return *std::find_if(workers.begin(), workers.end(),
                       [id](const WorkerView& view) { return view.worker == id; });
}

std::vector<WorkerView> Without(std::vector<WorkerView> workers, const std::set<WorkerId>& some) {
  std::erase_if(workers, [&](const WorkerView& view) { return some.contains(view.worker); });
  return workers;
}

bool BookTrial(const HeldRoom& held, std::vector<WorkerView>& workers) {
  const std::vector<Placement> ranks = PlaceRanks(held.request, Without(workers, held.unfit));
  for (const Placement& rank : ranks) Book(rank, -1, At(workers, rank.worker));
  return !ranks.empty();
}

// The workers that could run a trial together once they were empty, those with most free first and
// no more than needed. They take nothing else.
void Gather(const HeldRoom& held, std::vector<WorkerView>& workers) {
  const ResourceRequest& request = held.request;
  std::vector<WorkerView*> by_free;
  for (WorkerView& view : workers) {
    if (!view.is_draining && !held.unfit.contains(view.worker)) by_free.push_back(&view);
  }
  const auto rank = [&request](const WorkerView* view) {
    const int64_t free_gpu = request.gpu_milli > 0 ? GpuScore(*view).gpu : 0;
    return std::tuple(-free_gpu, -view->free_cpu_milli, view->worker);
  };
  std::sort(by_free.begin(), by_free.end(),
            [&](const WorkerView* a, const WorkerView* b) { return rank(a) < rank(b); });
  std::vector<WorkerView*> chosen;
  std::vector<WorkerCapacity> together;
  for (WorkerView* const view : by_free) {
    if (CouldEverFit(request, view->capacity)) {
      view->is_draining = true;
      return;
    }
    ResourceRequest one_rank = request;
    one_rank.workers = 1;
    if (request.workers == 1 || !CouldEverFit(one_rank, view->capacity)) continue;
    chosen.push_back(view);
    together.push_back(view->capacity);
    if (!CouldEverFit(request, together)) continue;
    for (WorkerView* const one : chosen) one->is_draining = true;
    return;
  }
}

// How many of the held trials have room now.
int64_t CountPlaced(const std::vector<HeldRoom>& held, std::vector<WorkerView> workers) {
  int64_t count = 0;
  for (const HeldRoom& one : held) {
    for (int64_t i = 0; i < one.trials && BookTrial(one, workers); ++i) ++count;
  }
  return count;
}

}  // namespace

int64_t TrialsWorth(const Reserve& reserve, const ResourceRequest& request) {
  int64_t trials = std::numeric_limits<int64_t>::max();
  const auto bound = [&](int64_t reserved, int64_t of_rank) {
    if (reserved > 0)
      trials = of_rank == 0 ? 0 : std::min(trials, reserved / (of_rank * request.workers));
  };
  if (reserve == Reserve{}) return 0;
  bound(reserve.cpu_milli, request.cpu_milli);
  bound(reserve.gpu_milli, request.gpu_milli);
  return trials;
}

std::vector<WorkerView> WithoutReserves(const std::vector<HeldRoom>& held,
                                        std::vector<WorkerView> workers) {
  for (const HeldRoom& one : held) {
    int64_t i = 0;
    while (i < one.trials && BookTrial(one, workers)) ++i;
    for (; i < one.trials; ++i) Gather(one, workers);
  }
  return workers;
}

std::set<WorkerId> ClosedByReserves(const std::vector<HeldRoom>& held,
                                    const ResourceRequest& request,
                                    const std::vector<WorkerView>& workers,
                                    const std::set<WorkerId>& except) {
  std::set<WorkerId> closed;
  if (held.empty()) return closed;
  ResourceRequest one_rank = request;
  one_rank.workers = 1;
  const std::vector<WorkerView> left = WithoutReserves(held, workers);
  for (const WorkerView& view : left) {
    if (!PlaceOn(one_rank, view)) closed.insert(view.worker);
  }
  if (request.workers > 1) {
    std::set<WorkerId> not_there = except;
    not_there.insert(closed.begin(), closed.end());
    if (PlaceRanks(request, Without(left, not_there)).empty()) {
      for (const WorkerView& view : left) closed.insert(view.worker);
    }
  }
  // The trial may be put on another device of the worker than the one that is left.
  const int64_t placed = CountPlaced(held, workers);
  for (;;) {
    std::set<WorkerId> not_there = except;
    not_there.insert(closed.begin(), closed.end());
    const std::vector<Placement> ranks = PlaceRanks(request, Without(workers, not_there));
    if (ranks.empty()) return closed;
    std::vector<WorkerView> after = workers;
    for (const Placement& rank : ranks) Book(rank, -1, At(after, rank.worker));
    if (CountPlaced(held, std::move(after)) >= placed) return closed;
    for (const Placement& rank : ranks) closed.insert(rank.worker);
  }
}

}  // namespace tune
