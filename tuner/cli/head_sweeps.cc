#include "tuner/cli/head_sweeps.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "core/posix/real_clock.h"
#include "core/utf8.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/placement.h"
#include "trial_runner/working_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/artifact_cleanup.h"
#include "tuner/cli/bucket_cleanup.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/job_order.h"
#include "tuner/cli/store_client.h"
#include "tuner/cli/sweep.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/cli/sweep_start.h"
#include "tuner/cli/working_package.h"
#include "tuner/control/control_plan.h"
#include "tuner/earlier_sweep.h"
#include "tuner/provenance.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr Duration kTryAgainAfter = Seconds(60);  // With a sweep that found no room on a disk.
constexpr size_t kPackagesOfEndedMax = 16;
constexpr Duration kStoreAnswerPatience = Seconds(5);  // Workers are waited for meanwhile.

// A client has taken them out; none comes into the database.
Status RefuseSecrets(const std::string& spec) {
  TUNE_ASSIGN_OR_RETURN(Value document, ParseJson(spec));
  const std::vector<Secret> secrets = TakeSecrets(document);
  if (secrets.empty()) return OkStatus();
  return InvalidArgument("trainable.env." + secrets.front().name + ": is a secret");
}

// A head tries it again by itself.
bool IsTriedAgain(const StoredExperiment& experiment) {
  return experiment.status == ExperimentStatus::kInterrupted && experiment.given_up.empty();
}

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

void LogOfHead(const std::string& line) { Tell(FormatInstant(RealClock().Now()) + "  " + line); }

HeadSweeps::HeadSweeps(const Parts& parts)
    : parts_(parts), artifacts_dir_(ArtifactsDirOf(parts.db_path)), emptying_(parts.artifacts) {}

std::string HeadSweeps::NameOf(ExperimentId id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? "" : found->second;
}

Status HeadSweeps::Look() {
  LookAtPrograms();
  TUNE_RETURN_IF_ERROR(LookAtOrder());
  TUNE_RETURN_IF_ERROR(LookAtEnded());
  TUNE_RETURN_IF_ERROR(emptying_.Look(parts_.store, parts_.clock.Now()));
  return LookAtInterrupted();
}

// What its last life, and tuners that were killed, left running.
Status HeadSweeps::TakeUp(const TakenUp& taken) {
  for (const Status& status : taken.refused) {
    LogOfHead("warning: a sweep stays closed: " + status.message());
  }
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    NoteSubmitted(experiment);
    const auto last_step = taken.last_steps.find(experiment.id);
    if (last_step == taken.last_steps.end()) continue;
    parts_.tuner.Begin(experiment.id, last_step->second);
    Admit(experiment);
  }
  if (!taken.last_steps.empty()) {
    std::vector<HeadEvent> events = {HeadEvent{TunerRestarted{parts_.doors.listens()}}};
    for (const auto& [id, last_step] : taken.last_steps) {
      for (HeadEvent& event : HeldBack(id, last_step)) events.push_back(std::move(event));
    }
    TUNE_RETURN_IF_ERROR(parts_.tuner.Take(events));
  }
  for (const StoredExperiment& experiment : taken.apart) {
    if (parts_.tuner.is_held()) return parts_.tuner.WhyHeld();
    const Result<int64_t> last_step =
        EnlistStored(experiment, artifacts_dir_, parts_.store, parts_.controller);
    if (!last_step.ok()) {
      LogOfHead("warning: a sweep stays closed: " + last_step.status().message());
      continue;
    }
    parts_.tuner.Begin(experiment.id, *last_step);
    Admit(experiment);
    std::vector<HeadEvent> events = {HeadEvent{TunerRestarted{}, experiment.id}};
    for (HeadEvent& event : HeldBack(experiment.id, *last_step)) events.push_back(std::move(event));
    TUNE_RETURN_IF_ERROR(parts_.tuner.Take(events));
  }
  TUNE_RETURN_IF_ERROR(emptying_.GoOn(parts_.db_path));
  if (!names_.empty()) {
    LogOfHead("going on with " + Counted(static_cast<int64_t>(names_.size()), "sweep"));
  }
  return OkStatus();
}

Status HeadSweeps::CheckNew(const std::string& name, const ExperimentSpec& spec) const {
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(name));
  std::error_code error;
  const std::filesystem::path folder = artifacts_dir_ + "/" + name;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    return InvalidArgument(folder.string() + " is a file; expected another name");
  }
  if (!parts_.doors.listens() && !CouldEverFit(spec.resources, parts_.local)) {
    return InvalidArgument("resources: a trial needs " + DescribeRequest(spec.resources) +
                           ", but this head takes no workers of other machines, and its own has " +
                           DescribeCapacity(parts_.local));
  }
  TUNE_RETURN_IF_ERROR(CheckStorage(spec.checkpoint.storage, name, kStoreAnswerPatience));
  SweepSurroundings surroundings;
  surroundings.local = parts_.local;
  return CheckEnvironment(spec, surroundings, parts_.program_dir).At("of the head");
}

void HeadSweeps::NoteSubmitted(const StoredExperiment& experiment) {
  const Result<Provenance> provenance = DecodeProvenance(experiment.provenance);
  if (!provenance.ok() || provenance->submission.empty()) return;
  submitted_.emplace(provenance->submission, experiment.name);
  // By an earlier life, which was about to try again.
  if (IsTriedAgain(experiment)) {
    interrupted_.Add(experiment.name, provenance->package.sha256, parts_.clock.Now());
  }
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

Result<HeadDuties::Submitted> HeadSweeps::Submit(const std::string& name,
                                                 const Submission& submission) {
  const Result<Provenance> provenance = DecodeProvenance(submission.provenance);
  if (!provenance.ok()) return provenance.status().At("provenance");
  if (const auto before = submitted_.find(provenance->submission);
      before != submitted_.end() && !provenance->submission.empty()) {
    return Submitted{before->second, false};
  }
  if (!IsUtf8(submission.spec) || !IsUtf8(submission.base_dir) || !IsUtf8(name)) {
    return InvalidArgument(
        "expected UTF-8 in a sweep's name, its space and the path of its folder");
  }
  TUNE_RETURN_IF_ERROR(RefuseSecrets(submission.spec));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                        InterpretStoredSpec(submission.spec, name, submission.base_dir,
                                            /*require_trainable=*/true));
  // Workers wait meanwhile.
  const auto left = [this, asked = parts_.clock.Now()] {
    return Duration{
        std::max(Seconds(1).us, kStoreAnswerPatience.us - (parts_.clock.Now() - asked).us)};
  };
  TUNE_RETURN_IF_ERROR(OfAwayStore(CheckNew(name, spec)));
  TUNE_RETURN_IF_ERROR(CheckOrder(parts_.db_path, spec.after, parts_.clock));
  const bool needs_package =
      provenance->is_elsewhere && !WorkingFolder(spec.trainable, spec.base_dir).empty();
  if (needs_package) TUNE_RETURN_IF_ERROR(CheckPackage(parts_.db_path, provenance->package));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(EarlierSweep earlier,
                        ReadEarlierAtStart(spec, space, parts_.clock.Now(), parts_.store));
  TUNE_ASSIGN_OR_RETURN(
      SweepParts parts,
      MakeSweepParts(spec, submission.seed, name, artifacts_dir_, std::move(earlier.trials)));
  TUNE_ASSIGN_OR_RETURN(const std::vector<Event> first_events,
                        KnownAtStart(spec, 0, parts_.db_path));
  NewExperiment wanted;
  wanted.name = name;
  wanted.metric = spec.metric;
  wanted.mode = spec.mode == Mode::kMax ? "max" : "min";
  wanted.seed = submission.seed;
  wanted.samples = spec.samples;
  wanted.spec =
      earlier.from.is_null() ? submission.spec : ToJson(WithEarlier(spec.document, earlier));
  wanted.base_dir = submission.base_dir;
  wanted.provenance = submission.provenance;
  wanted.created_at = parts_.clock.Now();
  TUNE_ASSIGN_OR_RETURN(wanted.labels, Changed({}, submission.labels));
  wanted.is_synced_later = true;  // With its first step.
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment experiment, parts_.store.CreateExperiment(wanted));
  TUNE_RETURN_IF_ERROR(OfAwayStore(ClaimNew(experiment, spec.checkpoint.storage, parts_.db_path,
                                            parts_.store, /*empties=*/false, left())));
  parts.options.name = experiment.name;
  parts.options.artifact_root = artifacts_dir_ + "/" + experiment.name;
  parts_.controller.Enlist(experiment.id, std::move(parts.options), std::move(parts.searcher),
                           std::move(parts.scheduler));
  parts_.tuner.Begin(experiment.id, 0);
  NoteSubmitted(experiment);
  // What fails from here on is for the head's next life, which may find it.
  Admit(experiment);
  std::vector<HeadEvent> events = HeldBack(experiment.id, 0);
  for (const Event& event : first_events) events.push_back({event, experiment.id});
  events.push_back({DeadlinePassed{}, experiment.id});
  Status begun = parts_.tuner.Take(events);
  if (begun.ok()) begun = parts_.store.MakeDurable();  // Before anybody is told of it.
  if (!begun.ok()) return Internal(begun.message());
  if (!earlier.note.empty()) LogOfHead(experiment.name + ": " + earlier.note);
  return Submitted{experiment.name, true};
}

// It is enlisted: workers get what they need of it.
void HeadSweeps::Admit(const StoredExperiment& experiment) {
  const ExperimentId id = experiment.id;
  OpenSweep& open = parts_.controller.At(id);
  names_[id] = experiment.name;
  if (const auto storage = StorageOf(experiment, parts_.db_path)) {
    storages_.insert_or_assign(id, *storage);
    parts_.artifacts.LookNowAndThen(experiment.name, [storage = *storage](const auto& stop) {
      return KeepClaim(storage, stop);
    });
  }
  programs_.erase(id);
  const Result<Provenance> provenance = DecodeProvenance(experiment.provenance);
  programs_.try_emplace(id, open.sweep.options().spec, experiment.provenance,
                        open.sweep.doubts().program_changes());
  OfferedToWorkers offered;
  if (provenance.ok()) {
    // The package also where it is gone: in another folder its trials would be other ones.
    offered = {provenance->package, provenance->is_elsewhere, DataSeenOf(*provenance)};
  }
  std::shared_ptr<const PackageSource> package;
  if (provenance.ok() && !provenance->package.sha256.empty()) {
    auto kept = OpenKeptPackage(PackagesDirOf(parts_.db_path), provenance->package);
    if (kept.ok()) {
      package = *std::move(kept);
      packages_[id] = package->name().sha256;
    } else {
      LogOfHead("warning: " + experiment.name +
                ": workers cannot have its folder: " + kept.status().message());
    }
  }
  open.sweep.Offer(std::move(offered));
  const Status added =
      parts_.doors.AddSweep(id, experiment.name, open.sweep.options().spec, std::move(package));
  if (!added.ok()) {
    LogOfHead("warning: " + experiment.name +
              ": workers of other machines cannot save for it: " + added.message());
  }
}

std::vector<HeadEvent> HeadSweeps::HeldBack(ExperimentId id, int64_t last_step) {
  const Sweep& sweep = parts_.controller.At(id).sweep;
  const std::vector<std::string>& after = sweep.options().spec.after;
  // One that has begun goes on, whatever became of those before it.
  if (after.empty() || !sweep.trials().empty()) return {};
  // So does one that was let begin, and has found no room yet.
  if (last_step > 0 && !sweep.is_paused()) return {};
  following_[id] = after;
  is_order_due_ = true;
  return {HeadEvent{PauseRequested{std::nullopt, true}, id}};
}

Status HeadSweeps::LookAtOrder() {
  if (following_.empty() || !std::exchange(is_order_due_, false)) return OkStatus();
  const auto database = OpenForQueries(parts_.db_path);
  if (!database.ok()) return Internal(database.status().message());
  for (auto entry = following_.begin(); entry != following_.end();) {
    const auto& [id, after] = *entry;
    if (!parts_.controller.At(id).sweep.is_paused()) {  // A person has let it begin.
      entry = following_.erase(entry);
      continue;
    }
    const Result<AfterView> view = LookAfter(**database, after, parts_.clock);
    if (!view.ok()) return Internal(view.status().message());
    if (view->state == AfterState::kWaits) {
      ++entry;
      continue;
    }
    if (parts_.tuner.is_held()) {
      is_order_due_ = true;
      return OkStatus();
    }
    const bool may_begin = view->state == AfterState::kMayBegin;
    LogOfHead(NameOf(id) + (may_begin ? " begins" : " is stopped: " + view->sentence));
    const Event event = may_begin ? Event{UnpauseRequested{}} : Event{StopRequested{{}, true}};
    const ExperimentId sweep = id;
    entry = following_.erase(entry);
    TUNE_RETURN_IF_ERROR(parts_.tuner.Take({HeadEvent{event, sweep}}));
  }
  return OkStatus();
}

void HeadSweeps::Leave(const EndOfExperiment& end) {
  is_order_due_ = true;
  following_.erase(end.sweep);
  const std::string name = NameOf(end.sweep);
  LogOfHead(name + " is " + ExperimentStatusName(end.status));
  if (end.status == ExperimentStatus::kInterrupted) NoteInterrupted(end.sweep);
  parts_.doors.DropSweep(end.sweep);
  programs_.erase(end.sweep);
  if (const auto storage = storages_.find(end.sweep); storage != storages_.end()) {
    CleanUpLater(storage->second);
    parts_.artifacts.LookNowAndThen(storage->second.sweep, {});
    storages_.erase(storage);
  }
  names_.erase(end.sweep);
  const bool had_package = packages_.erase(end.sweep) > 0;
  parts_.controller.Release(end.sweep);
  if (had_package) TrimPackages();
  // Checkpoints that workers sent and were lost before they told of them.
  if (!parts_.doors.listens()) return;
  if (const Status s = CleanUpSweep(parts_.db_path, name, parts_.clock.Now()); !s.ok()) {
    LogOfHead("warning: " + s.message() + " (tune gc tries again)");
  }
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

// Those of sweeps that are over may be wanted again, by a resume; not all of them for ever.
void HeadSweeps::TrimPackages() {
  std::set<std::string> needed = interrupted_.Packages();
  for (const auto& [id, hash] : packages_) needed.insert(hash);
  TrimKeptPackages(PackagesDirOf(parts_.db_path), needed, kPackagesOfEndedMax);
}

Result<std::vector<std::string>> HeadSweeps::DoAtRest(const ControlRequest& request) {
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.name != request.sweep) continue;
    if (request.verb == ControlVerb::kResume) return Resume(experiment, request);
    if (request.verb == ControlVerb::kDelete) {
      if (const std::string learner = LearnerOf(experiment.name, experiments); !learner.empty()) {
        return FailedPrecondition(learner + ", which is not finished, learns from " +
                                  experiment.name + "; delete that one first");
      }
      TUNE_RETURN_IF_ERROR(parts_.store.DeleteExperiment(experiment));
      if (const auto storage = StorageOf(experiment, parts_.db_path)) emptying_.Begin(*storage);
      is_order_due_ = true;
      interrupted_.Remove(experiment.name);
      std::erase_if(submitted_, [&](const auto& entry) { return entry.second == experiment.name; });
      LogOfHead(experiment.name + " is deleted");
      return std::vector<std::string>{experiment.name + " is deleted"};
    }
    return ControlAtRest(request, experiment, artifacts_dir_, parts_.store, parts_.artifacts,
                         parts_.clock.Now());
  }
  return NotFound("there is no sweep '" + request.sweep + "'");
}

Result<std::vector<std::string>> HeadSweeps::Resume(const StoredExperiment& experiment,
                                                    const ControlRequest& request) {
  const bool is_over = experiment.status == ExperimentStatus::kFinished ||
                       experiment.status == ExperimentStatus::kStopped;
  const bool extends = request.samples && IsMore(*request.samples, experiment.samples);
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
  if (const Status s = CleanUpSweep(parts_.db_path, experiment.name, parts_.clock.Now()); !s.ok()) {
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

// It may go on meanwhile: as for any sweep that a tuner runs.
void HeadSweeps::CleanUpLater(const SweepStorage& storage) {
  const auto clean = [db_path = parts_.db_path, &clock = parts_.clock,
                      storage](const std::stop_token& stop) -> Status {
    TUNE_ASSIGN_OR_RETURN(
        const CleanedStorage cleaned,
        CleanUpStorage(db_path, storage, FindLockHolder(db_path), clock.Now(), false, stop));
    for (const RemovedGarbage& one : cleaned.removed) TUNE_RETURN_IF_ERROR(one.status);
    return OkStatus();
  };
  parts_.artifacts.DoLater(clean);
}

Status HeadSweeps::LookAtEnded() {
  constexpr size_t kAtOnceMax = 20;  // Workers are waited for meanwhile.
  const Instant now = parts_.clock.Now();
  if (!parts_.keep.is_any() || now < ended_due_) return OkStatus();
  ended_due_ = now + LookEvery(parts_.keep);
  Result<std::vector<EndedSweep>> ended = FindEnded(parts_.db_path, parts_.keep);
  if (!ended.ok()) return Internal(ended.status().message());
  for (const auto& [id, after] : following_) {
    std::erase_if(*ended, [&](const EndedSweep& sweep) {
      return std::find(after.begin(), after.end(), sweep.name) != after.end();
    });
  }
  std::vector<EndedSweep> expired = Expired(*std::move(ended), parts_.keep, now);
  if (expired.size() > kAtOnceMax) {
    expired.resize(kAtOnceMax);
    ended_due_ = now + Seconds(1);
  }
  for (const EndedSweep& sweep : expired) {
    ControlRequest request;
    request.verb = ControlVerb::kDelete;
    request.sweep = sweep.name;
    Status removed = DoAtRest(request).status();
    if (removed.code() == StatusCode::kInternal) return removed;
    if (removed.ok()) removed = parts_.artifacts.Remove(artifacts_dir_ + "/" + sweep.name);
    LogOfHead(
        sweep.name + ", over since " + FormatInstant(sweep.ended_at) +
        (removed.ok() ? ", was removed (--keep)" : ": cannot be removed: " + removed.message()));
  }
  return OkStatus();
}

void HeadSweeps::LookAtPrograms() {
  const size_t worker_count = parts_.controller.cluster().workers().all().size();
  for (auto& [id, program] : programs_) {
    if (auto changes = program.Look(parts_.clock.Now(), worker_count)) {
      parts_.queue.PushEvent(ProgramChanged{*std::move(changes)}, id);
      for (const std::string& line : program.TakeNews()) LogOfHead(NameOf(id) + ": " + line);
    }
  }
}

}  // namespace tune
