#include "tuner/cli/head/head_sweeps.h"

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
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/look/job_order.h"
#include "tuner/cli/look/store_client.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/cli/words/complain.h"
#include "tuner/earlier_sweep.h"
#include "tuner/provenance.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr size_t kPackagesOfEndedMax = 16;
constexpr Duration kStoreAnswerPatience = Seconds(5);  // Workers are waited for meanwhile.

// A client has taken them out; none comes into the database.
Status RefuseSecrets(const std::string& spec) {
  TUNE_ASSIGN_OR_RETURN(Value document, ParseJson(spec));
  const std::vector<Secret> secrets = TakeSecrets(document);
  if (secrets.empty()) return OkStatus();
  return InvalidArgument("trainable.env." + secrets.front().name + ": is a secret");
}

// But for its labels.
NewExperiment WantedBy(const Submission& submission, const std::string& name,
                       const ExperimentSpec& spec, const EarlierSweep& earlier, Instant now) {
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
  wanted.created_at = now;
  wanted.is_synced_later = true;  // With its first step.
  return wanted;
}

}  // namespace

void LogOfHead(const std::string& line) { Tell(FormatInstant(RealClock().Now()) + "  " + line); }

HeadSweeps::HeadSweeps(const Parts& parts)
    : parts_(parts),
      artifacts_dir_(ArtifactsDirOf(parts.db_path)),
      emptying_(parts.artifacts),
      folders_(parts.db_path) {}

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
  folders_.GoOn();
  std::vector<HeadEvent> events = {HeadEvent{TunerRestarted{parts_.doors.listens()}}};
  for (const StoredExperiment& experiment : experiments) {
    NoteSubmitted(experiment);
    const auto last_step = taken.last_steps.find(experiment.id);
    if (last_step == taken.last_steps.end()) continue;
    parts_.tuner.Begin(experiment.id, last_step->second);
    Admit(experiment);
    for (HeadEvent& event : FirstOf(experiment, last_step->second)) {
      events.push_back(std::move(event));
    }
  }
  if (!taken.last_steps.empty()) TUNE_RETURN_IF_ERROR(parts_.tuner.Take(events));
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
    events = {HeadEvent{TunerRestarted{}, experiment.id}};
    for (HeadEvent& event : FirstOf(experiment, *last_step)) events.push_back(std::move(event));
    TUNE_RETURN_IF_ERROR(parts_.tuner.Take(events));
  }
  NoteClosed(experiments);
  TUNE_RETURN_IF_ERROR(emptying_.GoOn(parts_.db_path));
  if (!names_.empty()) {
    LogOfHead("going on with " + Counted(static_cast<int64_t>(names_.size()), "sweep"));
  }
  return OkStatus();
}

void HeadSweeps::NoteClosed(const std::vector<StoredExperiment>& experiments) {
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.status != ExperimentStatus::kRunning || names_.contains(experiment.id)) continue;
    const Result<Provenance> provenance = DecodeProvenance(experiment.provenance);
    if (provenance.ok()) closed_packages_.insert(provenance->package.sha256);
  }
}

Status HeadSweeps::CheckNew(const std::string& name, const ExperimentSpec& spec) const {
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

Status HeadSweeps::Claim(const StoredExperiment& experiment, const std::string& storage,
                         Duration patience) {
  Status claimed =
      ClaimNew(experiment, storage, parts_.db_path, parts_.store, /*empties=*/false, patience);
  if (claimed.code() == StatusCode::kUnavailable) {
    emptying_.Begin(*StorageOf(experiment, storage, parts_.db_path));
  }
  return claimed;
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
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(name));
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
  TUNE_RETURN_IF_ERROR(CheckOrder(parts_.db_path, spec.after));
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
  NewExperiment wanted = WantedBy(submission, name, spec, earlier, parts_.clock.Now());
  TUNE_ASSIGN_OR_RETURN(wanted.labels, Changed({}, submission.labels));
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment experiment, parts_.store.CreateExperiment(wanted));
  if (const Status way = folders_.MakeWayFor(experiment.name); !way.ok()) {
    TUNE_RETURN_IF_ERROR(parts_.store.DeleteExperiment(experiment));
    return FailedPrecondition("a deleted sweep has left its folder: " + way.message());
  }
  TUNE_RETURN_IF_ERROR(OfAwayStore(Claim(experiment, spec.checkpoint.storage, left())));
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
  // Before anybody is told of it; a step that found no room makes it so when there is some.
  if (begun.ok() && !parts_.tuner.is_held()) begun = parts_.store.MakeDurable();
  if (begun.code() == StatusCode::kResourceExhausted) {
    return ResourceExhausted("it takes effect once there is room, unless the head ends before: " +
                             begun.message());
  }
  if (!begun.ok()) return Internal(begun.message());
  if (!earlier.note.empty()) LogOfHead(experiment.name + ": " + earlier.note);
  return Submitted{experiment.name, true};
}

Result<std::shared_ptr<const PackageSource>> HeadSweeps::PackageOf(
    const ExperimentSpec& spec, const Provenance& provenance) const {
  if (!provenance.package.sha256.empty()) {
    auto kept = OpenKeptPackage(PackagesDirOf(parts_.db_path), provenance.package);
    if (kept.ok() || provenance.is_elsewhere || !parts_.doors.listens()) return kept;
  }
  if (provenance.is_elsewhere || !parts_.doors.listens()) {
    return std::shared_ptr<const PackageSource>();
  }
  TUNE_ASSIGN_OR_RETURN(const WorkingPackage package,
                        PackWorkingFolder(spec, parts_.db_path, /*listens=*/true));
  for (const std::string& warning : package.warnings) LogOfHead("warning: " + warning);
  return std::shared_ptr<const PackageSource>(package.packed);
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
  std::shared_ptr<const PackageSource> package;
  if (provenance.ok()) {
    offered = {provenance->package, provenance->is_elsewhere, DataSeenOf(*provenance)};
    auto found = PackageOf(open.sweep.options().spec, *provenance);
    if (!found.ok()) {
      // A package is named all the same: in another folder its trials would be other ones.
      if (offered.package.sha256.empty()) offered.package = {std::string(64, '0'), 1};
      LogOfHead("warning: " + experiment.name +
                ": workers cannot have its folder: " + found.status().message());
    } else if (*found != nullptr) {
      package = *std::move(found);
      offered.package = package->name();
      packages_[id] = package->name().sha256;
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

std::vector<HeadEvent> HeadSweeps::FirstOf(const StoredExperiment& experiment, int64_t last_step) {
  const Status is_kept = CheckFolderIsKept(parts_.db_path, experiment);
  if (is_kept.ok()) return HeldBack(experiment.id, last_step);
  return {HeadEvent{InterruptRequested{is_kept.message()}, experiment.id}};
}

std::vector<HeadEvent> HeadSweeps::HeldBack(ExperimentId id, int64_t last_step) {
  const Sweep& sweep = parts_.controller.At(id).sweep;
  const std::vector<std::string>& after = sweep.options().spec.after;
  // One that has begun goes on, whatever became of those before it.
  if (after.empty() || !sweep.trials().empty()) return {};
  // So does one that was let begin, and has found no room yet.
  if (last_step > 0 && !sweep.is_paused()) return {};
  following_[id] = after;
  for (const std::string& name : after) followers_[name].insert(id);
  order_due_.insert(id);
  return {HeadEvent{PauseRequested{std::nullopt, true}, id}};
}

Status HeadSweeps::LookAtOrder() {
  if (order_due_.empty()) return OkStatus();
  const auto database = OpenForQueries(parts_.db_path);
  if (!database.ok()) return Internal(database.status().message());
  while (!order_due_.empty()) {
    const ExperimentId id = *order_due_.begin();
    if (!parts_.controller.At(id).sweep.is_paused()) {  // A person has let it begin.
      StopFollowing(id);
      continue;
    }
    const Result<AfterView> view = LookAfter(**database, following_.at(id));
    if (!view.ok()) return Internal(view.status().message());
    if (view->state == AfterState::kWaits) {
      order_due_.erase(id);
      continue;
    }
    if (parts_.tuner.is_held()) return OkStatus();
    const bool may_begin = view->state == AfterState::kMayBegin;
    LogOfHead(NameOf(id) + (may_begin ? " begins" : " is stopped: " + view->sentence));
    const Event event = may_begin ? Event{UnpauseRequested{}} : Event{StopRequested{{}, true}};
    StopFollowing(id);
    TUNE_RETURN_IF_ERROR(parts_.tuner.Take({HeadEvent{event, id}}));
  }
  return OkStatus();
}

void HeadSweeps::NoteOver(const std::string& name) {
  const auto followers = followers_.find(name);
  if (followers == followers_.end()) return;
  order_due_.insert(followers->second.begin(), followers->second.end());
}

void HeadSweeps::StopFollowing(ExperimentId id) {
  const auto following = following_.extract(id);
  order_due_.erase(id);
  if (!following) return;
  for (const std::string& name : following.mapped()) {
    const auto followers = followers_.find(name);
    if (followers == followers_.end()) continue;
    followers->second.erase(id);
    if (followers->second.empty()) followers_.erase(followers);
  }
}

void HeadSweeps::Leave(const EndOfExperiment& end) {
  StopFollowing(end.sweep);
  const std::string name = NameOf(end.sweep);
  NoteOver(name);
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
  parts_.controller.Release(end.sweep);
  parts_.tuner.Release(end.sweep);
  if (const auto package = packages_.extract(end.sweep)) {
    TouchKeptPackage(PackagesDirOf(parts_.db_path), package.mapped());
    TrimPackages();
  }
  // Checkpoints that workers sent and were lost before they told of them.
  if (parts_.doors.listens()) {
    folders_.CleanUp(name, parts_.clock.Now(), parts_.controller.lease());
  }
}

// Those of sweeps that are over may be wanted again, by a resume; not all of them for ever.
void HeadSweeps::TrimPackages() {
  std::set<std::string> needed = interrupted_.Packages();
  needed.insert(closed_packages_.begin(), closed_packages_.end());
  for (const auto& [id, hash] : packages_) needed.insert(hash);
  TrimKeptPackages(PackagesDirOf(parts_.db_path), needed, kPackagesOfEndedMax);
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
  parts_.artifacts.DoLater(storage.root.bucket, clean);
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
