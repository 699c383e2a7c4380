#include "tuner/cli/run/sweep_display.h"

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include "search/searcher.h"
#include "tuner/best_configuration.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/live_screen.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

class SweepDisplay::State {
 public:
  State(const SweepView& view, const StoredExperiment& experiment, std::string db_path, Instant now)
      : view_(view), experiment_(experiment), db_path_(std::move(db_path)), begun_at_(now) {
    // What an earlier life told of is not told again, nor counted as this one's pace.
    was_resumed_ = !view_.trials().empty();
    told_.resize(view_.trials().size());
    for (size_t i = 0; i < told_.size(); ++i) told_[i] = view_.trials()[i].is_over();
  }

  void Update(Instant now, bool is_last) {
    if (!is_last && !screen_.IsDue(now)) return;
    const SweepSnapshot snapshot = Snapshot(now);
    screen_.Show(snapshot, TakeEnded(), now);
  }

  void Say(const std::string& line) { screen_.Say(line); }

  SweepSummary Summary(Instant now) const {
    SweepSummary summary;
    summary.name = experiment_.name;
    summary.metric = experiment_.metric;
    // A tuner that was made to end at once leaves its sweep running, and running without a tuner is
    // being interrupted, as `tune list` says from then on.
    const ExperimentStatus status = view_.status();
    summary.status = ExperimentStatusName(
        status == ExperimentStatus::kRunning ? ExperimentStatus::kInterrupted : status);
    summary.was_paused = view_.is_paused();
    summary.given_up = view_.sweep().given_up();
    const bool was_cut_off =
        status != ExperimentStatus::kFinished && status != ExperimentStatus::kStopped;
    if (!was_cut_off) summary.ended_early = view_.sweep().ended_early();
    summary.experiment = experiment_.id.value;
    summary.mode = view_.options().spec.mode;
    summary.repeat = RepeatCount(view_.options().spec.search);
    summary.best = Best();
    summary.better_failed = BetterFailed(summary.best);
    if (!summary.best) summary.why_no_best = WhyNoBest();
    const ExperimentSpec& spec = view_.options().spec;
    const std::vector<ObjectiveValues> front = Front();
    if (!spec.more_objectives.empty()) summary.front = DescribeFront(front);
    summary.has_limits = !spec.feasible.empty();
    summary.none_feasible = WarningOfLimits(summary.best, front);
    summary.doubts = view_.doubts();
    summary.elapsed = now - begun_at_;
    const Duration since_creation = now - experiment_.created_at;
    if (was_resumed_ && since_creation > summary.elapsed) summary.since_creation = since_creation;
    summary.db_path = db_path_;
    summary.resume_line = ResumeLine();
    int64_t longest = 0;
    for (const TrialRecord& trial : view_.trials()) {
      const TrialRow& row = trial.row;
      ++summary.trial_count;
      summary.failed_count += row.status == TrialStatus::kError ? 1 : 0;
      summary.paused_count += row.status == TrialStatus::kPaused ? 1 : 0;
      summary.early_count += row.stop_reason == StopReason::kScheduler ? 1 : 0;
      summary.iterations_trained += row.iterations;
      if (row.stop_reason == StopReason::kCompleted || row.stop_reason == StopReason::kMaxT) {
        longest = std::max(longest, row.iterations);
      }
    }
    summary.has_ended_trial = longest > 0 || IsFifo(spec.scheduler);
    if (longest > 0 && !IsFifo(spec.scheduler)) {
      summary.iterations_full = WithoutEarlyStopping(longest);
    }
    return summary;
  }

  // Those that failed, or that a person or a limit ended, are no saving.
  int64_t WithoutEarlyStopping(int64_t longest) const {
    int64_t iterations = 0;
    for (const TrialRecord& trial : view_.trials()) {
      const TrialRow& row = trial.row;
      const bool is_early =
          row.stop_reason == StopReason::kScheduler || row.status == TrialStatus::kPaused;
      iterations += is_early ? std::max(longest, row.iterations) : row.iterations;
    }
    return iterations;
  }

  std::string ResumeLine() const { return ShellCommand("resume", experiment_.name, db_path_); }

 private:
  SweepSnapshot Snapshot(Instant now) {
    SweepSnapshot snapshot;
    snapshot.name = experiment_.name;
    snapshot.metric = experiment_.metric;
    snapshot.mode = view_.options().spec.mode;
    snapshot.samples = view_.trial_count_max();
    snapshot.is_paused = view_.is_paused();
    for (const TrialRecord& trial : view_.trials()) Count(trial, now, snapshot);
    if (snapshot.samples >= 0) {
      snapshot.pending_count += snapshot.samples - static_cast<int64_t>(view_.trials().size());
    }
    snapshot.rungs = view_.scheduler().Rungs();
    snapshot.best = Best();
    if (!snapshot.best) snapshot.why_no_best = WhyNoBest();
    for (const WorkerView& worker : view_.leases().Views()) {
      ++snapshot.worker_count;
      snapshot.cpu_milli_total += worker.capacity.cpu_milli;
      snapshot.cpu_milli_used += worker.capacity.cpu_milli - worker.free_cpu_milli;
      for (const int64_t free : worker.free_gpu_milli) {
        snapshot.gpu_milli_total += kWholeMilli;
        snapshot.gpu_milli_used += kWholeMilli - free;
      }
    }
    rate_.Add(now, snapshot.iteration_count);
    snapshot.iterations_per_second = rate_.PerSecond();
    snapshot.elapsed = now - begun_at_;
    snapshot.time_left = TimeLeftOf(snapshot, now);
    return snapshot;
  }

  std::optional<TimeLeft> TimeLeftOf(const SweepSnapshot& snapshot, Instant now) const {
    if (snapshot.is_paused) return std::nullopt;
    SweepPace pace;
    pace.samples = snapshot.samples;
    pace.longest = LongestTrial(view_.options().spec);
    pace.rung_share = RungShare(view_.options().spec);
    for (const RungView& rung : snapshot.rungs) pace.rungs.push_back(rung.milestone);
    for (const TrialRecord& trial : view_.trials()) {
      Duration run_time = Seconds(trial.row.run_seconds);
      const bool is_running = trial.row.status == TrialStatus::kRunning;
      if (is_running) run_time = run_time + (now - trial.attempt.started_at);
      TrialPace& one =
          pace.trials.emplace_back(PaceState(trial.row.status), trial.row.iterations, run_time);
      if (is_running) one.report_time = Duration{run_time.us - (now - trial.progress_at).us};
    }
    return EstimateTimeLeft(pace);
  }

  void Count(const TrialRecord& trial, Instant now, SweepSnapshot& snapshot) const {
    const TrialRow& row = trial.row;
    snapshot.iteration_count += row.iterations;
    switch (row.status) {
      case TrialStatus::kPending:
        ++snapshot.pending_count;
        return;
      case TrialStatus::kPaused:
        ++snapshot.paused_count;
        return;
      case TrialStatus::kTerminated:
        ++snapshot.stopped_count;
        return;
      case TrialStatus::kError:
        ++snapshot.failed_count;
        return;
      case TrialStatus::kRunning:
        break;
    }
    RunningTrial running;
    running.number = row.number.value;
    running.iteration = row.iterations;
    running.last_value = row.last_value;
    running.best_value = row.best_value;
    if (trial.attempt.worker) running.worker = view_.WorkerName(*trial.attempt.worker);
    running.running_for = now - trial.attempt.started_at;
    snapshot.running.push_back(std::move(running));
  }

  // Empty with one objective.
  std::vector<ObjectiveValues> Front() const {
    const ExperimentSpec& spec = view_.options().spec;
    if (spec.more_objectives.empty()) return {};
    std::vector<ObjectiveValues> trials;
    for (const TrialRecord& trial : view_.trials()) {
      if (trial.whole_values.empty() || trial.row.status == TrialStatus::kError) continue;
      trials.push_back({trial.row.number.value, trial.whole_values, trial.whole_violation});
    }
    return ParetoFront(trials, spec.objectives());
  }

  // Empty: what is best keeps the limits, or there are none.
  std::string WarningOfLimits(const std::optional<BestSoFar>& best,
                              const std::vector<ObjectiveValues>& front) const {
    const ExperimentSpec& spec = view_.options().spec;
    if (spec.feasible.empty()) return "";
    if (!spec.more_objectives.empty()) return WarningOf(spec.feasible.texts(), front);
    if (!best) return "";
    const std::vector<std::string> limits = spec.feasible.texts();
    if (best->runs) return WarningOf(limits, *best->runs);
    return IsFeasible(best->violation) ? "" : NoTrialIsFeasible(limits, *best->violation);
  }

  std::optional<BestSoFar> Best() const {
    const ExperimentSpec& spec = view_.options().spec;
    const int64_t repeat = RepeatCount(spec.search);
    if (repeat > 1 && spec.more_objectives.empty()) return BestOfMeans(repeat, spec.mode);
    const TrialRecord* best = nullptr;
    for (const TrialRecord& trial : view_.trials()) {
      const TrialRow* const row = best == nullptr ? nullptr : &best->row;
      if (MayBeBest(trial.row) && IsBetterTrial(trial.row, row, spec.mode)) best = &trial;
    }
    return best == nullptr ? std::nullopt : std::optional(Described(*best));
  }

  std::optional<BestSoFar> BestOfMeans(int64_t repeat, Mode mode) const {
    std::vector<Run> runs;
    for (const TrialRecord& trial : view_.trials())
      runs.push_back({trial.row.number.value, trial.row.status, trial.row.best_value,
                      trial.row.best_violation});
    std::vector<ConfigurationRuns> ranked = RankConfigurations(runs, repeat, mode);
    if (ranked.empty()) return std::nullopt;
    const auto number = static_cast<size_t>(ranked.front().best_trial);
    BestSoFar best = Described(view_.trials()[number]);
    best.runs = std::move(ranked.front());
    return best;
  }

  // The best of the failed trials, where it has a better value than the best one. Of runs of a
  // configuration none is compared alone.
  std::optional<FailedBest> BetterFailed(const std::optional<BestSoFar>& best) const {
    const Mode mode = view_.options().spec.mode;
    std::optional<FailedBest> failed;
    if (best && best->runs) return failed;
    for (const TrialRecord& trial : view_.trials()) {
      const TrialRow& row = trial.row;
      if (!row.best_value || MayBeBest(row)) continue;
      const auto beats = [&](double value, Metric violation) {
        return IsBetterStanding(*row.best_value, row.best_violation, value, violation, mode);
      };
      if (best && !beats(best->value, best->violation)) continue;
      if (failed && !beats(failed->value, failed->violation)) continue;
      failed = FailedBest{row.number.value, row.iterations, *row.best_value, row.best_violation};
    }
    return failed;
  }

  std::string WhyNoBest() const {
    NoBest none;
    none.has_failed_best = BetterFailed({}).has_value();
    none.is_constrained = !view_.options().spec.scores.constrained_names().empty();
    for (const TrialRecord& trial : view_.trials())
      none.has_iterations = none.has_iterations || trial.row.iterations > 0;
    return none.Why(Printable(experiment_.metric));
  }

  BestSoFar Described(const TrialRecord& best) const {
    BestSoFar described;
    described.number = best.row.number.value;
    described.value = *best.row.best_value;
    described.violation = best.row.best_violation;
    described.iteration = best.row.best_iteration.value_or(0);
    described.config = best.ConfigurationOfBest().ToNested();
    described.earlier_configs = best.best_lineage;
    const auto* checkpoint =
        view_.checkpoints().Nearest(best.row.number, described.iteration, best.best_lineage);
    if (checkpoint != nullptr) described.checkpoint_path = checkpoint->ref.path;
    return described;
  }

  std::vector<EndedTrial> TakeEnded() {
    std::vector<EndedTrial> ended;
    const std::vector<TrialRecord>& trials = view_.trials();
    told_.resize(trials.size());
    for (size_t i = 0; i < trials.size(); ++i) {
      if (told_[i] || !trials[i].is_over()) continue;
      told_[i] = true;
      const TrialRow& row = trials[i].row;
      const bool has_failed = row.status == TrialStatus::kError;
      ended.push_back({row.number.value, has_failed,
                       has_failed ? trials[i].attempt.error : StopReasonName(row.stop_reason),
                       row.iterations, row.best_value, row.best_iteration.value_or(0),
                       row.last_value});
    }
    return ended;
  }

  const SweepView& view_;
  const StoredExperiment experiment_;
  const std::string db_path_;
  const Instant begun_at_;
  bool was_resumed_ = false;
  std::vector<bool> told_;  // By trial: its end was shown.
  RateMeter rate_;
  LiveScreen screen_;
};

SweepDisplay::SweepDisplay(const SweepView& view, const StoredExperiment& experiment,
                           std::string db_path, Instant now)
    : state_(std::make_unique<State>(view, experiment, std::move(db_path), now)) {}

SweepDisplay::~SweepDisplay() = default;

void SweepDisplay::Update(Instant now) { state_->Update(now, false); }
void SweepDisplay::Say(const std::string& line) { state_->Say(line); }
void SweepDisplay::Close(Instant now) { state_->Update(now, true); }
void SweepDisplay::PrintSummary(Instant now, int64_t iterations_again) {
  SweepSummary summary = state_->Summary(now);
  summary.iterations_again = iterations_again;
  summary.iterations_trained += iterations_again;
  std::cout << RenderSummary(summary) << std::flush;
}
std::string SweepDisplay::ResumeLine() const { return state_->ResumeLine(); }

}  // namespace tune
