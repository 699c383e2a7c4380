#include "search/repeat_searcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/standing.h"

namespace tune {

RepeatSearcher::RepeatSearcher(std::unique_ptr<Searcher> inner, int64_t repeat,
                               std::vector<Mode> modes, SearchRules rules)
    : inner_(std::move(inner)), repeat_(repeat), modes_(std::move(modes)), rules_(rules) {
  TUNE_CHECK(repeat_ > 0);
}

RepeatSearcher::Group& RepeatSearcher::Add(TrialNumber group, Configuration configuration) {
  Group& added = groups_[group];
  added.configuration = std::move(configuration);
  added.runs.resize(static_cast<size_t>(repeat_));
  return added;
}

std::optional<Configuration> RepeatSearcher::Suggest(TrialNumber number) {
  const TrialNumber group = GroupOf(number);
  if (const auto found = groups_.find(group); found != groups_.end()) {
    return found->second.configuration;
  }
  std::optional<Configuration> suggestion = inner_->Suggest(group);
  if (suggestion) Add(group, *suggestion);
  return suggestion;
}

void RepeatSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  const TrialNumber group = GroupOf(number);
  if (groups_.contains(group)) return;
  inner_->Restore(group, configuration);
  Add(group, configuration);
}

void RepeatSearcher::Count(Run& run, Objectives values) const {
  const Objectives objectives = values.first(modes_.size());
  const bool is_whole = std::all_of(objectives.begin(), objectives.end(),
                                    [](const Metric& value) { return value.has_value(); });
  if (!is_whole) return;
  const auto violation = [this](Objectives all) { return ViolationOf(all.subspan(modes_.size())); };
  if (modes_.size() > 1 || run.best.empty() ||
      IsBetterStanding(*values[0], violation(values), *run.best[0], violation(run.best),
                       modes_[0])) {
    run.best.assign(values.begin(), values.end());
  }
}

bool RepeatSearcher::HasObjective(const Values& values) const {
  return std::any_of(values.begin(), values.begin() + std::min(values.size(), modes_.size()),
                     [](const Metric& value) { return value.has_value(); });
}

// `limit`: its place among the values.
Metric RepeatSearcher::MeanOfLimit(const std::vector<Values>& all, size_t limit) const {
  double margins = 0;
  double violations = 0;
  int64_t count = 0;
  for (const Values& values : all) {
    if (!HasObjective(values)) continue;
    if (limit >= values.size() || !values[limit]) return std::nullopt;
    margins += *values[limit];
    violations += std::max(0.0, *values[limit]);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return (violations > 0 ? violations : margins) / static_cast<double>(count);
}

RepeatSearcher::Values RepeatSearcher::MeanOf(const std::vector<Values>& all) const {
  size_t size = modes_.size();
  for (const Values& values : all) size = std::max(size, values.size());
  Values mean(size);
  for (size_t i = 0; i < mean.size(); ++i) {
    if (i >= modes_.size() && rules_ >= SearchRules::kFrom14) {
      mean[i] = MeanOfLimit(all, i);
      continue;
    }
    double sum = 0;
    int64_t count = 0;
    for (const Values& values : all) {
      if (i >= values.size() || !values[i]) continue;
      sum += *values[i];
      ++count;
    }
    // Of both infinities there is no mean.
    if (count > 0 && !std::isnan(sum)) mean[i] = sum / static_cast<double>(count);
  }
  return mean;
}

void RepeatSearcher::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  const auto found = groups_.find(GroupOf(number));
  if (found == groups_.end()) return;
  Group& group = found->second;
  Count(group.runs[static_cast<size_t>(number.value % repeat_)], values);
  std::vector<Values>& reported = group.reports[iteration];
  reported.emplace_back(values.begin(), values.end());
  if (static_cast<int64_t>(reported.size()) < repeat_) return;
  const Values mean = MeanOf(reported);
  group.reports.erase(iteration);
  inner_->OnReport(found->first, iteration, mean);
}

void RepeatSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  const auto found = groups_.find(GroupOf(number));
  if (found == groups_.end()) return;
  Group& group = found->second;
  Run& run = group.runs[static_cast<size_t>(number.value % repeat_)];
  run.has_ended = true;
  run.has_failed = failed;
  if (!failed) Count(run, last);
  std::vector<Values> bests;
  bool have_all_failed = true;
  for (const Run& each : group.runs) {
    if (!each.has_ended) return;
    have_all_failed = have_all_failed && each.has_failed;
    if (!each.has_failed) bests.push_back(each.best);
  }
  group.reports.clear();
  if (group.seconds > 0) inner_->OnDuration(found->first, group.seconds);
  inner_->OnTrialEnded(found->first, MeanOf(bests), have_all_failed);
}

void RepeatSearcher::OnStopped(TrialNumber number) {
  if (groups_.contains(GroupOf(number))) inner_->OnStopped(GroupOf(number));
}

// What a configuration costs is all of its runs.
void RepeatSearcher::OnDuration(TrialNumber number, double seconds) {
  const auto found = groups_.find(GroupOf(number));
  if (found == groups_.end()) return;
  found->second.seconds += seconds;
  found->second.runs[static_cast<size_t>(number.value % repeat_)].seconds = seconds;
}

// The searcher hears of the end again once all have ended again.
void RepeatSearcher::OnReopened(TrialNumber number) {
  const auto found = groups_.find(GroupOf(number));
  if (found == groups_.end()) return;
  Group& group = found->second;
  const bool had_ended = std::all_of(group.runs.begin(), group.runs.end(),
                                     [](const Run& run) { return run.has_ended; });
  Run& run = group.runs[static_cast<size_t>(number.value % repeat_)];
  run.has_ended = false;
  run.has_failed = false;
  group.seconds -= std::exchange(run.seconds, 0);
  if (had_ended) inner_->OnReopened(found->first);
}

std::string RepeatSearcher::DebugString() const {
  return std::to_string(repeat_) + " times each: " + inner_->DebugString();
}

}  // namespace tune
