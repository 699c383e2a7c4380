#include "tuner/sweep_view.h"

#include <algorithm>

namespace tune {

bool SweepView::HasLocalWorker() const {
  const std::vector<WorkerView> views = leases().Views();
  return std::any_of(views.begin(), views.end(), [this](const WorkerView& view) {
    return cluster().workers().At(view.worker).row.is_local;
  });
}

}  // namespace tune
