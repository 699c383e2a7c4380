// What a head does with sweeps that do not run: it goes on with them, deletes them, changes them.
#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "tuner/cli/head/head_sweeps.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/control/control_plan.h"
#include "tuner/earlier_sweep.h"
#include "tuner/provenance.h"

namespace tune {
namespace {

constexpr Duration kTryAgainAfter = Seconds(60);  // With a sweep that found no room on a disk.

// An unfinished sweep that could not go on without `name`; empty: there is none.
std::string LearnerOf(const std::string& name, const std::vector<StoredExperiment>& experiments) {
  for (const StoredExperiment& experiment : experiments) {
    const bool is_over = experiment.status == ExperimentStatus::kFinished ||
                         experiment.status == ExperimentStatus::kStopped;
    if (is_over || experiment.name == name) continue;
    const Result<Value> spec = ParseJson(experiment.spec);
    if (spec.ok() && EarlierNameIn(*spec) == name) return experiment.name;
  }
  return "";
}

}  // namespace

Result<std::vector<std::string>> HeadSweeps::DoAtRest(const ControlRequest& request) {
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.name != request.sweep) continue;
    if (request.verb == ControlVerb::kResume) return Resume(experiment, request);
    if (request.verb == ControlVerb::kDelete) return Delete(experiment, experiments);
    return ChangeAtRest(experiment, request);
  }
  return NotFound("there is no sweep '" + request.sweep + "'");
}

// A change ends the state of one that was given up: whoever waits for it waits for a new try.
Result<std::vector<std::string>> HeadSweeps::ChangeAtRest(const StoredExperiment& experiment,
                                                          const ControlRequest& request) {
  Result<std::vector<std::string>> changed_lines = ControlAtRest(
      request, experiment, artifacts_dir_, parts_.store, parts_.artifacts, parts_.clock.Now());
  parts_.store.Release(experiment.id);
  TUNE_ASSIGN_OR_RETURN(std::vector<std::string> lines, std::move(changed_lines));
  NoteOver(experiment.name);  // It may be stopped now.
  if (experiment.given_up.empty()) return lines;
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const StoredExperiment& changed : experiments) {
    if (changed.id != experiment.id || !IsTriedAgain(changed)) continue;
    const Result<Provenance> provenance = DecodeProvenance(changed.provenance);
    const std::string package = provenance.ok() ? provenance->package.sha256 : "";
    interrupted_.Add(changed.name, package, parts_.clock.Now());
    lines.push_back(changed.name + " was given up, and is tried again");
    LogOfHead(lines.back());
  }
  return lines;
}

Result<std::vector<std::string>> HeadSweeps::Delete(
    const StoredExperiment& experiment, const std::vector<StoredExperiment>& experiments) {
  if (const std::string learner = LearnerOf(experiment.name, experiments); !learner.empty()) {
    return FailedPrecondition(learner + ", which is not finished, learns from " + experiment.name +
                              "; delete that one first");
  }
  TUNE_RETURN_IF_ERROR(parts_.store.DeleteExperiment(experiment));
  std::vector<std::string> lines = {experiment.name + " is deleted"};
  if (const Status s = folders_.RemoveDeleted(experiment.name); !s.ok()) {
    lines.push_back("its folder stays for now: " + s.message());
  }
  if (const auto storage = StorageOf(experiment, parts_.db_path)) emptying_.Begin(*storage);
  NoteOver(experiment.name);
  interrupted_.Remove(experiment.name);
  std::erase_if(submitted_, [&](const auto& entry) { return entry.second == experiment.name; });
  for (const std::string& line : lines) LogOfHead(line);
  return lines;
}

Result<std::vector<std::string>> HeadSweeps::Resume(const StoredExperiment& experiment,
                                                    const ControlRequest& request) {
  const bool is_over = experiment.status == ExperimentStatus::kFinished ||
                       experiment.status == ExperimentStatus::kStopped;
  const bool extends = Extends(request.samples, experiment.samples);
  if (is_over && !request.samples && !request.errored) {
    return FailedPrecondition("sweep " + experiment.name +
                              " is over; nothing to resume (--samples N extends it, --errored "
                              "tries failed trials again)");
  }
  TUNE_RETURN_IF_ERROR(CheckFolderIsKept(parts_.db_path, experiment));
  TUNE_ASSIGN_OR_RETURN(const int64_t last_step,
                        EnlistStored(experiment, artifacts_dir_, parts_.store, parts_.controller));
  const Sweep& sweep = parts_.controller.At(experiment.id).sweep;
  Status fits = CheckNew(experiment.name, sweep.options().spec);
  if (fits.ok() && request.samples) {
    fits = CheckNewTotal(*request.samples, experiment, sweep.options());
  }
  const bool has_failed =
      std::any_of(sweep.trials().begin(), sweep.trials().end(),
                  [](const TrialRecord& trial) { return trial.row.status == TrialStatus::kError; });
  const bool has_work = !is_over || extends || (request.errored && has_failed);
  if (!fits.ok() || !has_work) {
    parts_.controller.Discard(experiment.id);
    if (!fits.ok()) return fits;
    return FailedPrecondition("sweep " + experiment.name + " is over" +
                              (request.errored ? " and no trial of it failed" : "") +
                              "; nothing to resume");
  }
  folders_.LeaveAlone(experiment.name);
  if (const Status s = CleanUpSweep(parts_.db_path, experiment.name, parts_.clock.Now(), nullptr,
                                    parts_.controller.lease());
      !s.ok()) {
    LogOfHead("warning: " + s.message() + " (tune gc tries again)");
  }
  const size_t trial_count = sweep.trials().size();
  interrupted_.Remove(experiment.name);
  parts_.tuner.Begin(experiment.id, last_step);
  Admit(experiment);
  std::vector<HeadEvent> events = {{TunerRestarted{}, experiment.id}};
  // Whoever goes on with one that is over means it.
  if (!is_over) {
    for (HeadEvent& event : HeldBack(experiment.id, last_step)) events.push_back(std::move(event));
  }
  if (extends) events.push_back({SamplesExtended{*request.samples}, experiment.id});
  if (request.errored && has_failed) events.push_back({ErroredRetried{}, experiment.id});
  const Status begun = parts_.tuner.Take(events);
  if (!begun.ok()) return Internal(begun.message());
  const std::string line =
      experiment.name + " goes on from " + Counted(static_cast<int64_t>(trial_count), "trial");
  LogOfHead("tune resume: " + line);
  return std::vector<std::string>{line};
}

// Nobody asked for it: a disk takes no writes, or no worker can have it.
void HeadSweeps::NoteInterrupted(ExperimentId id) {
  const std::string name = NameOf(id);
  const std::string& given_up = parts_.controller.At(id).sweep.given_up();
  if (!given_up.empty()) {
    return LogOfHead(name + " is given up: " + given_up + "; tune resume tries it again");
  }
  const auto package = packages_.find(id);
  interrupted_.Add(name, package == packages_.end() ? "" : package->second,
                   parts_.clock.Now() + kTryAgainAfter);
  LogOfHead(name + " is tried again in a minute");
}

Status HeadSweeps::LookAtInterrupted() {
  const std::vector<std::string> due = interrupted_.Due(parts_.clock.Now());
  if (due.empty()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const std::string& name : due) {
    if (parts_.tuner.is_held()) return OkStatus();
    const auto found = std::find_if(experiments.begin(), experiments.end(),
                                    [&](const auto& one) { return one.name == name; });
    if (found == experiments.end() || !IsTriedAgain(*found)) {
      interrupted_.Remove(name);
      continue;
    }
    const Status resumed = Resume(*found, {}).status();
    if (resumed.code() == StatusCode::kInternal) return resumed;
    if (resumed.ok()) continue;
    const std::string line = interrupted_.Refuse(name, resumed, parts_.clock.Now());
    if (!line.empty()) LogOfHead("warning: " + line);
  }
  return OkStatus();
}

// False: the size of some of them is not known yet.
bool HeadSweeps::MeasureEnded(std::vector<EndedSweep>& ended) {
  bool are_known = true;
  for (EndedSweep& sweep : ended) {
    const std::optional<int64_t> bytes = folders_.SizeOf(sweep.name, sweep.ended_at);
    sweep.bytes = bytes.value_or(0);
    are_known = are_known && bytes.has_value();
  }
  return are_known;
}

Status HeadSweeps::LookAtEnded() {
  constexpr size_t kAtOnceMax = 20;  // Workers are waited for meanwhile.
  const Instant now = parts_.clock.Now();
  if (!parts_.keep.is_any() || now < ended_due_) return OkStatus();
  if (awake_.Now() - begun_at_ < ClockTrustedAfter(parts_.keep)) return OkStatus();
  ended_due_ = now + LookEvery(parts_.keep);
  Result<std::vector<EndedSweep>> ended = FindEnded(parts_.db_path);
  if (!ended.ok()) return Internal(ended.status().message());
  RetentionRule rule = parts_.keep;
  if (rule.bytes && !MeasureEnded(*ended)) {
    rule.bytes.reset();
    ended_due_ = now + Seconds(1);
  }
  for (const auto& [id, after] : following_) {
    std::erase_if(*ended, [&](const EndedSweep& sweep) {
      return std::find(after.begin(), after.end(), sweep.name) != after.end();
    });
  }
  // Our clock stays ahead where the machine's was set back.
  std::vector<EndedSweep> expired =
      Expired(*std::move(ended), rule, std::min(now, RealClock().Now()));
  if (expired.size() > kAtOnceMax) {
    expired.resize(kAtOnceMax);
    ended_due_ = now + Seconds(1);
  }
  for (const EndedSweep& sweep : expired) {
    ControlRequest request;
    request.verb = ControlVerb::kDelete;
    request.sweep = sweep.name;
    const Status removed = DoAtRest(request).status();
    if (removed.code() == StatusCode::kInternal) return removed;
    LogOfHead(
        sweep.name + ", over since " + FormatInstant(sweep.ended_at) +
        (removed.ok() ? ", was removed (--keep)" : ": cannot be removed: " + removed.message()));
  }
  return OkStatus();
}

}  // namespace tune
