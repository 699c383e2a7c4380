#include "models/train/lane_array.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/check.h"
#include "models/train/trainer.h"

namespace tune::models {

LaneArray::LaneArray(std::shared_ptr<const Dataset> dataset, std::unique_ptr<LaneRunner> runner,
                     SecondsClock seconds)
    : dataset_(std::move(dataset)), runner_(std::move(runner)), seconds_(std::move(seconds)) {}

Result<TrainingRun*> LaneArray::Add(const Food11Options& options, const LaneResources& resources) {
  TUNE_CHECK(lanes_.empty() || LaneShape(lanes_.front().run->options()) == LaneShape(options));
  TUNE_RETURN_IF_ERROR(CheckData(options, *dataset_));
  TUNE_ASSIGN_OR_RETURN(NetworkTensors* const tensors, runner_->Add(options.seed, resources));
  if (const Status loaded = LoadWeights(options, *tensors); !loaded.ok()) {
    runner_->Remove(tensors);
    return loaded;
  }
  lanes_.push_back(
      {tensors,
       std::make_unique<TrainingRun>(options, dataset_, *tensors, seconds_, resources.threads),
       false});
  return lanes_.back().run.get();
}

void LaneArray::Remove(const TrainingRun* run) {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [run](const Lane& lane) { return lane.run.get() == run; });
  TUNE_CHECK(found != lanes_.end());
  NetworkTensors* const tensors = found->tensors;
  lanes_.erase(found);
  runner_->Remove(tensors);
}

bool LaneArray::is_in_epoch() const {
  return std::any_of(lanes_.begin(), lanes_.end(),
                     [](const Lane& lane) { return lane.is_in_epoch(); });
}

std::vector<LaneArray::Ended> LaneArray::BeginEpoch() {
  TUNE_CHECK(!is_in_epoch());
  const auto begins = [](const Lane& lane) { return !lane.has_failed && !lane.run->finished(); };
  const auto count = static_cast<int>(std::count_if(lanes_.begin(), lanes_.end(), begins));
  std::vector<Ended> ended;
  for (Lane& lane : lanes_) {
    if (!begins(lane)) continue;
    const Status begun = lane.run->BeginEpoch(count);
    if (begun.ok()) continue;
    lane.has_failed = true;
    ended.push_back({lane.run.get(), begun});
  }
  return ended;
}

std::vector<LaneArray::Ended> LaneArray::Step() {
  std::vector<LaneStep> steps;
  for (const Lane& lane : lanes_) {
    if (lane.is_in_epoch()) steps.push_back({lane.tensors, lane.run->NextStep()});
  }
  TUNE_CHECK(!steps.empty());
  const auto first =
      std::min_element(steps.begin(), steps.end(), [](const LaneStep& a, const LaneStep& b) {
        return std::pair(a.step.split, a.step.begin) < std::pair(b.step.split, b.step.begin);
      });
  const BatchStep chosen = first->step;
  std::erase_if(steps, [&chosen](const LaneStep& s) { return !AreAlike(s.step, chosen); });
  const std::vector<Result<BatchResult>> results = runner_->Run(steps);

  std::vector<Ended> ended;
  for (size_t i = 0; i < steps.size(); ++i) {
    Lane& lane = *std::find_if(lanes_.begin(), lanes_.end(), [&steps, i](const Lane& candidate) {
      return candidate.tensors == steps[i].lane;
    });
    const Status taken =
        results[i].ok() ? lane.run->Take(*results[i]) : Status(results[i].status());
    if (!taken.ok()) {
      lane.has_failed = true;
      ended.push_back({lane.run.get(), taken});
    } else if (!lane.run->is_in_epoch()) {
      ended.push_back({lane.run.get(), lane.run->history().back()});
    }
  }
  return ended;
}

}  // namespace tune::models
