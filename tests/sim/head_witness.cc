#include "tests/sim/head_witness.h"

#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "tests/sim/digest.h"
#include "tests/sim/environment.h"
#include "tuner/recovery.h"
#include "tuner/spec_reader.h"

namespace tune::sim {
namespace {

std::string Called(const HeadWitness::Sweep& sweep) { return sweep.experiment.name + ": "; }

// Without what is the cluster's, and what was to be said.
Transition RowsAlone(Transition rows) {
  rows.workers.clear();
  rows.actions.clear();
  return rows;
}

}  // namespace

void HeadWitness::Created(const StoredExperiment& experiment) {
  if (sweeps_.contains(experiment.id)) return;
  for (const auto& [id, sweep] : sweeps_) {
    if (sweep.experiment.name == experiment.name) trace_.Fail("two sweeps are " + experiment.name);
  }
  sweeps_[experiment.id].experiment = experiment;
  const auto document = ParseJson(experiment.spec);
  TUNE_CHECK(document.ok());
  auto spec = InterpretSpec(*document, "space.yaml", "/sim", true);
  TUNE_CHECK(spec.ok());
  auto parts = MakeSweepParts(*spec, experiment.seed, experiment.name, kArtifactsDir);
  TUNE_CHECK(parts.ok());
  shadow_.Enlist(experiment.id, std::move(parts->options), std::move(parts->searcher),
                 std::move(parts->scheduler));
}

void HeadWitness::Committed(std::span<const SweepStep> steps) {
  if (steps.empty()) return;
  in_doubt_.clear();
  ++commit_count_;
  together_count_ += steps.size() > 1 ? 1 : 0;
  for (const SweepStep& step : steps) Take(step.experiment, step.step, step.rows);
}

void HeadWitness::InDoubt(std::span<const SweepStep> steps) {
  in_doubt_.clear();
  for (const SweepStep& step : steps) in_doubt_.push_back({step.experiment, step.step, step.rows});
}

void HeadWitness::Take(ExperimentId id, const JournalStep& step, const Transition& rows) {
  Sweep& sweep = sweeps_.at(id);
  ++step_count_;
  trace_.Note("committed", {id.value, step.step}, step.events);
  if (step.step != static_cast<int64_t>(sweep.steps.size()) + 1) {
    return trace_.Fail(Called(sweep) + "step " + std::to_string(step.step) + " was committed next");
  }
  sweep.steps.push_back(step.events);
  const auto stream = DecodeStream(step.events);
  if (!stream.ok()) return trace_.Fail(Called(sweep) + stream.status().message());
  const Transition own = shadow_.Follow(id, *stream);
  if (const auto broken = shadow_.At(id).sweep.BrokenInvariant()) {
    return trace_.Fail(Called(sweep) + "by its stream alone, " + *broken);
  }
  if (Digest(RowsAlone(own)) != Digest(RowsAlone(rows))) {
    return trace_.Fail(Called(sweep) + "its stream alone leads to other rows: " + step.events);
  }
  for (const NewTrialRow& row : rows.new_trials) {
    sweep.trials[row.trial.number] = row.trial;
    sweep.configurations[row.trial.number] = row.configuration;
  }
  for (const TrialRow& row : rows.trials) sweep.trials[row.number] = row;
  for (const ReportRow& row : rows.reports) {
    ++report_count_;
    if (!row.decision || decided_.emplace(id, row.trial, row.iteration).second) continue;
    trace_.Fail(Called(sweep) + "iteration " + std::to_string(row.iteration) + " of trial " +
                std::to_string(row.trial.value) + " was decided twice");
  }
  if (rows.experiment) sweep.status = rows.experiment->status;
}

void HeadWitness::Recovered(Store& store) {
  const auto experiments = store.ListExperiments();
  if (!experiments.ok()) return;  // The process died again.
  std::set<ExperimentId> there;
  for (const StoredExperiment& experiment : *experiments) {
    there.insert(experiment.id);
    Created(experiment);
    Told(experiment.id);  // A database that is opened is synced, and whoever asks again is told.
  }
  ForgetUntold(there);
  std::set<ExperimentId> grown;
  for (const auto& [id, sweep] : sweeps_) {
    if (there.contains(id)) {
      CheckJournal(store, sweep, grown);
    } else {
      trace_.Fail(Called(sweep) + "is no longer in the database");
    }
  }
  const std::vector<Doubtful> in_doubt = std::exchange(in_doubt_, {});
  if (!grown.empty() && grown.size() != in_doubt.size()) {
    trace_.Fail("of a commit of " + std::to_string(in_doubt.size()) + " sweeps those of " +
                std::to_string(grown.size()) + " are there");
  }
  if (!grown.empty()) {
    for (const auto& [id, step, rows] : in_doubt) Take(id, step, rows);
  }
  for (const auto& [id, sweep] : sweeps_) CheckRows(store, sweep);
}

// Its first step was not acknowledged, either.
void HeadWitness::ForgetUntold(const std::set<ExperimentId>& there) {
  for (auto entry = sweeps_.begin(); entry != sweeps_.end();) {
    const auto& [id, sweep] = *entry;
    if (there.contains(id) || sweep.is_told || !sweep.steps.empty()) {
      ++entry;
      continue;
    }
    trace_.Note("a sweep that nobody was told of is gone", {id.value});
    shadow_.Discard(id);
    entry = sweeps_.erase(entry);
  }
}

void HeadWitness::CheckJournal(Store& store, const Sweep& sweep, std::set<ExperimentId>& grown) {
  const auto journal = store.ReadJournal(sweep.experiment.id);
  if (!journal.ok()) return;
  const size_t known = sweep.steps.size();
  if (journal->size() < known) {
    return trace_.Fail(Called(sweep) + "has " + std::to_string(journal->size()) + " steps, and " +
                       std::to_string(known) + " were acknowledged as durable");
  }
  for (size_t i = 0; i < known; ++i) {
    if (journal->at(i).events == sweep.steps[i]) continue;
    trace_.Fail(Called(sweep) + "step " + std::to_string(i + 1) + " is not what was committed");
  }
  if (journal->size() == known) return;
  for (const Doubtful& doubtful : in_doubt_) {
    if (doubtful.sweep != sweep.experiment.id || journal->size() != known + 1) continue;
    if (journal->back().events == doubtful.step.events) grown.insert(doubtful.sweep);
  }
  if (!grown.contains(sweep.experiment.id)) {
    trace_.Fail(Called(sweep) + "has a step that nobody took");
  }
}

void HeadWitness::CheckRows(Store& store, const Sweep& sweep) {
  const auto rows = store.ReadTrials(sweep.experiment.id);
  if (!rows.ok()) return;
  Transition stored;
  stored.trials = *rows;
  Transition expected;
  for (const auto& [number, row] : sweep.trials) expected.trials.push_back(row);
  if (Digest(stored) == Digest(expected)) return;
  trace_.Fail(Called(sweep) + "the rows of its trials are not what was committed");
}

}  // namespace tune::sim
