#include "tuner/recovery.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/json.h"
#include "tuner/earlier_sweep.h"
#include "tuner/event.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr char kChangedByOtherMeans[] =
    "; the database was changed by other means. Go on from a backup, or look at what is there "
    "with tune results";

}  // namespace

Result<SweepParts> MakeSweepParts(const ExperimentSpec& spec, uint64_t seed,
                                  const std::string& name, const std::string& artifacts_dir,
                                  std::vector<EarlierTrial> history, int64_t decision_version) {
  TUNE_ASSIGN_OR_RETURN(SearchSpace space, SpaceOf(spec));
  SearchProblem problem = ProblemOf(spec, space, spec.samples, seed, decision_version);
  Teach(spec, std::move(history), problem);
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher,
                        MakeSearcher(spec.search, std::move(problem)));
  const CombineRules combine_rules =
      decision_version >= 14 ? CombineRules::kPausesLast : CombineRules::kInOrder;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<TrialScheduler> scheduler,
                        MakeScheduler(spec.scheduler, spec.mode, seed, combine_rules));
  return SweepParts{
      {spec, seed, std::move(space), name, artifacts_dir + "/" + name, decision_version},
      std::move(searcher),
      std::move(scheduler)};
}

Result<std::unique_ptr<ExperimentController>> MakeController(const ExperimentSpec& spec,
                                                             uint64_t seed, const std::string& name,
                                                             const std::string& artifacts_dir,
                                                             std::vector<EarlierTrial> history) {
  TUNE_ASSIGN_OR_RETURN(SweepParts parts,
                        MakeSweepParts(spec, seed, name, artifacts_dir, std::move(history)));
  return std::make_unique<ExperimentController>(std::move(parts.options), std::move(parts.searcher),
                                                std::move(parts.scheduler));
}

Result<SweepParts> PartsOfStored(const StoredExperiment& experiment,
                                 const std::string& artifacts_dir, Store& store) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                        InterpretStoredSpec(experiment.spec, experiment.name, experiment.base_dir,
                                            /*require_trainable=*/true));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(EarlierSweep earlier,
                        ReadEarlierSweep(spec, space, experiment.created_at, store));
  return MakeSweepParts(spec, experiment.seed, experiment.name, artifacts_dir,
                        std::move(earlier.trials), experiment.decision_version);
}

Result<std::unique_ptr<ExperimentController>> FreshController(const StoredExperiment& experiment,
                                                              const std::string& artifacts_dir,
                                                              Store& store) {
  TUNE_ASSIGN_OR_RETURN(SweepParts parts, PartsOfStored(experiment, artifacts_dir, store));
  auto controller = std::make_unique<ExperimentController>(
      std::move(parts.options), std::move(parts.searcher), std::move(parts.scheduler));
  TUNE_ASSIGN_OR_RETURN(auto suggestions, store.ReadSuggestions(experiment.id));
  controller->RestoreSuggestions(std::move(suggestions));
  return controller;
}

Result<Transition> FollowStep(const JournalStep& step, ExperimentController& controller) {
  if (IsStream(step.events)) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<SweepEvent> stream, DecodeStream(step.events));
    return controller.Follow(stream);
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<Event> events, DecodeEvents(step.events));
  return controller.Apply(events, step.at);
}

namespace {

// Errors of `take` carry the step. Returns the last one, 0 for none.
Result<int64_t> TakeInOrder(Store& store, ExperimentId experiment, const StepTaker& take) {
  int64_t last_step = 0;
  TUNE_RETURN_IF_ERROR(store.EachStep(experiment, [&](const JournalStep& step) -> Status {
    const auto place = [&step] { return "journal step " + std::to_string(step.step); };
    if (step.step != last_step + 1) {
      return DataLoss(place() + " follows step " + std::to_string(last_step));
    }
    if (const Status taken = take(step); !taken.ok()) return taken.At(place());
    last_step = step.step;
    return OkStatus();
  }));
  return last_step;
}

}  // namespace

Result<int64_t> Replay(Store& store, ExperimentId experiment, ExperimentController& controller) {
  bool is_of_older_build = false;
  TUNE_ASSIGN_OR_RETURN(const int64_t last_step,
                        TakeInOrder(store, experiment, [&](const JournalStep& step) {
                          is_of_older_build = !IsStream(step.events);
                          return FollowStep(step, controller).status();
                        }));
  if (is_of_older_build) {
    controller.WriteAllWorkers();
    return last_step;
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<WorkerRow> workers, store.ReadWorkers(experiment));
  if (const Status s = controller.RestoreCluster(workers); !s.ok()) {
    return DataLoss(s.message() + kChangedByOtherMeans);
  }
  return last_step;
}

namespace {

// As a column shows it: a value that is not a number has none, and zero has no sign.
std::string ShownMetric(const Metric& value) {
  if (!value || std::isnan(*value)) return "none";
  std::string text;
  AppendJsonNumber(*value == 0 ? 0.0 : *value, text);
  return text;
}

std::string ShownReason(StopReason reason) {
  return reason == StopReason::kNone ? "none" : StopReasonName(reason);
}

std::string ShownIteration(const std::optional<int64_t>& iteration) {
  return iteration ? std::to_string(*iteration) : "none";
}

// The first column in which the two differ: its name, what is stored, what the journal led to.
std::optional<std::array<std::string, 3>> Difference(const TrialRow& stored, const TrialRow& row) {
  const std::array<std::string, 3> columns[] = {
      {"status", TrialStatusName(stored.status), TrialStatusName(row.status)},
      {"stop_reason", ShownReason(stored.stop_reason), ShownReason(row.stop_reason)},
      {"iterations", std::to_string(stored.iterations), std::to_string(row.iterations)},
      {"last_value", ShownMetric(stored.last_value), ShownMetric(row.last_value)},
      {"best_value", ShownMetric(stored.best_value), ShownMetric(row.best_value)},
      {"best_iteration", ShownIteration(stored.best_iteration), ShownIteration(row.best_iteration)},
      {"violation", ShownMetric(stored.best_violation), ShownMetric(row.best_violation)},
      {"attempts", std::to_string(stored.attempts), std::to_string(row.attempts)},
  };
  for (const auto& column : columns) {
    if (column[1] != column[2]) return column;
  }
  return std::nullopt;
}

}  // namespace

Status CompareTrials(const std::vector<TrialRow>& stored,
                     const std::vector<TrialRecord>& replayed) {
  if (stored.size() != replayed.size()) {
    return DataLoss("there are " + std::to_string(stored.size()) + " trials, the journal led to " +
                    std::to_string(replayed.size()) + kChangedByOtherMeans);
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    if (stored[i].number != replayed[i].row.number) {
      return DataLoss("trial " + std::to_string(i) + " is not there" + kChangedByOtherMeans);
    }
    const auto difference = Difference(stored[i], replayed[i].row);
    if (!difference) continue;
    const auto& [column, is_stored, led_to] = *difference;
    return DataLoss("trial " + std::to_string(i) + " has the " + column + " " + is_stored +
                    ", the journal led to " + led_to + kChangedByOtherMeans);
  }
  return OkStatus();
}

namespace {

Status CheckVersion(const StoredExperiment& experiment) {
  if (IsKnownDecisionVersion(experiment.decision_version)) return OkStatus();
  return FailedPrecondition(
      experiment.name + " was decided by version " + std::to_string(experiment.decision_version) +
      " of the decision code, this program knows those from " +
      std::to_string(kOldestDecisionVersion) + " to " + std::to_string(kDecisionVersion) +
      "; resume it with the program that began it");
}

}  // namespace

Result<RecoveredExperiment> Recover(const StoredExperiment& experiment,
                                    const std::string& artifacts_dir, Store& store) {
  TUNE_RETURN_IF_ERROR(CheckVersion(experiment));
  RecoveredExperiment recovered;
  TUNE_ASSIGN_OR_RETURN(recovered.controller, FreshController(experiment, artifacts_dir, store));
  const Result<int64_t> last_step = Replay(store, experiment.id, *recovered.controller);
  if (!last_step.ok()) return last_step.status().At(experiment.name);
  recovered.last_step = *last_step;
  TUNE_ASSIGN_OR_RETURN(const std::vector<TrialRow> stored, store.ReadTrials(experiment.id));
  TUNE_RETURN_IF_ERROR(CompareTrials(stored, recovered.controller->trials()).At(experiment.name));
  return recovered;
}

Result<int64_t> EnlistStored(const StoredExperiment& experiment, const std::string& artifacts_dir,
                             Store& store, Controller& controller) {
  TUNE_RETURN_IF_ERROR(CheckVersion(experiment));
  TUNE_ASSIGN_OR_RETURN(SweepParts parts, PartsOfStored(experiment, artifacts_dir, store));
  TUNE_ASSIGN_OR_RETURN(auto suggestions, store.ReadSuggestions(experiment.id));
  OpenSweep& open = controller.Enlist(experiment.id, std::move(parts.options),
                                      std::move(parts.searcher), std::move(parts.scheduler));
  open.sweep.RestoreSuggestions(std::move(suggestions));
  const auto follow = [&](const JournalStep& step) -> Status {
    if (!IsStream(step.events)) {
      return FailedPrecondition("it was taken by an older program; tune resume " + experiment.name +
                                " goes on with it alone");
    }
    TUNE_ASSIGN_OR_RETURN(const std::vector<SweepEvent> stream, DecodeStream(step.events));
    controller.Follow(experiment.id, stream);
    return OkStatus();
  };
  Result<int64_t> last_step = TakeInOrder(store, experiment.id, follow);
  if (last_step.ok()) {
    const auto stored = store.ReadTrials(experiment.id);
    const Status same = stored.ok() ? CompareTrials(*stored, open.sweep.trials()) : stored.status();
    if (!same.ok()) last_step = same;
  }
  if (last_step.ok()) {
    const auto workers = store.ReadWorkers(experiment.id);
    if (workers.ok()) {
      controller.NoteRows(experiment.id, *workers);
    } else {
      last_step = workers.status();
    }
  }
  if (last_step.ok()) return last_step;
  controller.Discard(experiment.id);
  return last_step.status().At(experiment.name);
}

Status RestoreWorkers(Store& store, Controller& controller) {
  std::map<WorkerId, WorkerRow> by_id;
  for (const auto& [id, open] : controller.sweeps()) {
    TUNE_ASSIGN_OR_RETURN(std::vector<WorkerRow> rows, store.ReadWorkers(id));
    for (WorkerRow& row : rows) by_id.insert_or_assign(row.worker, std::move(row));
  }
  std::vector<WorkerRow> workers;
  for (auto& [id, row] : by_id) workers.push_back(std::move(row));
  const Status restored = controller.RestoreCluster(workers);
  return restored.ok() ? restored : DataLoss(restored.message() + kChangedByOtherMeans);
}

namespace {

bool IsSameWorker(const WorkerRow& a, const WorkerRow& b) {
  return a.joined_at == b.joined_at && a.session == b.session && a.name == b.name &&
         a.is_local == b.is_local;
}

// Takes a sweep's workers among those of the others. False: one of them is another one there.
bool TakeWorkers(const std::vector<WorkerRow>& rows, std::map<WorkerId, WorkerRow>& known) {
  for (const WorkerRow& row : rows) {
    const auto found = known.find(row.worker);
    if (found != known.end() && !IsSameWorker(found->second, row)) return false;
  }
  for (const WorkerRow& row : rows) known.emplace(row.worker, row);
  return true;
}

bool IsAskTell(const StoredExperiment& experiment) {
  const Result<Value> spec = ParseJson(experiment.spec);
  const Value* const trainable = spec.ok() && spec->is_map() ? spec->Find("trainable") : nullptr;
  return trainable != nullptr && *trainable == Value("ask-tell");
}

}  // namespace

Result<TakenUp> EnlistRunning(const std::string& artifacts_dir, Store& store,
                              Controller& controller) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store.ListExperiments());
  TakenUp taken;
  std::map<WorkerId, WorkerRow> known;
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.status != ExperimentStatus::kRunning || IsAskTell(experiment)) continue;
    TUNE_ASSIGN_OR_RETURN(const std::vector<WorkerRow> rows, store.ReadWorkers(experiment.id));
    if (!TakeWorkers(rows, known)) {
      taken.apart.push_back(experiment);
      continue;
    }
    const Result<int64_t> last_step = EnlistStored(experiment, artifacts_dir, store, controller);
    if (last_step.ok()) {
      taken.last_steps[experiment.id] = *last_step;
    } else {
      taken.refused.push_back(last_step.status());
    }
  }
  TUNE_RETURN_IF_ERROR(RestoreWorkers(store, controller));
  return taken;
}

}  // namespace tune
