// The workers in the order in which PlaceTrial() prefers them, so that it need not look at all of
// them: an index over the WorkerViews that somebody else holds. Its answers are PlaceTrial()'s
// (tests/trial_runner/placement_order_test.cc).
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/ids.h"
#include "trial_runner/placement.h"

namespace tune {

class PlacementOrder {
 public:
  // A view must be taken out as it was put in, and put in again after it changed. One that is
  // draining is in no order.
  void Insert(const WorkerView& view);
  void Erase(const WorkerView& view);

  // As PlaceTrial(request, all views that are in but for those of `except`, fuse_key).
  // `view_of(WorkerId)` gives the view of one that is in.
  template <typename ViewOf>
  std::optional<Placement> PlaceTrial(const ResourceRequest& request, ViewOf view_of,
                                      const std::string& fuse_key = "",
                                      const std::set<WorkerId>& except = {}) const {
    if (const auto runs = by_fuse_key_.find(fuse_key); runs != by_fuse_key_.end()) {
      for (const PlacementScore& score : runs->second) {
        const WorkerView& view = view_of(score.worker);
        if (except.contains(score.worker) || !FusesOn(request, view, fuse_key)) continue;
        if (auto placement = PlaceOn(request, view, fuse_key)) return placement;
      }
    }
    const std::set<PlacementScore>& order = request.gpu_milli > 0 ? by_gpu_ : by_cpu_;
    for (auto it = order.lower_bound(BestScore(request)); it != order.end();) {
      if (except.contains(it->worker)) {
        ++it;
        continue;
      }
      const WorkerView& view = view_of(it->worker);
      if (auto placement = PlaceOn(request, view, fuse_key)) return placement;
      const std::optional<PlacementScore> next = NextThatMayFit(request, *it);
      if (next) {
        it = order.lower_bound(*next);
      } else {
        ++it;
      }
    }
    return std::nullopt;
  }

 private:
  // A lower bound of the scores of workers that have room for it.
  static PlacementScore BestScore(const ResourceRequest& request);
  // The same, given that the worker with this score has none; nothing: the next one.
  static std::optional<PlacementScore> NextThatMayFit(const ResourceRequest& request,
                                                      const PlacementScore& score);

  std::set<PlacementScore> by_gpu_;
  std::set<PlacementScore> by_cpu_;
  std::map<std::string, std::set<PlacementScore>> by_fuse_key_;  // As by_gpu_, where one runs.
};

}  // namespace tune
