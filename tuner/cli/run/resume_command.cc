#include "tuner/cli/run/resume_command.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "search/searcher.h"
#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/stored_ask_tell.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/background.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/run/listening.h"
#include "tuner/cli/run/secret_environment.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/control/asker.h"
#include "tuner/control/control_client.h"
#include "tuner/provenance.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"
#include "tuner/spec_difference.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

// What is not as it was when the sweep began; it goes on all the same. Returns what of that the
// trials' values may show.
std::vector<std::string> WarnOfDifferences(const StoredExperiment& experiment,
                                           const Provenance& now) {
  const Result<Provenance> was = DecodeProvenance(experiment.provenance);
  if (!was.ok()) return {};
  for (const std::string& line : DescribeDifferences(*was, now)) {
    Tell("warning: changed since " + experiment.name + " began: " + line);
  }
  return DescribeProgramDifferences(*was, now);
}

// As told, else as the sweep was told when it began.
Result<WorkerCapacity> LocalOfResume(const ResumeOptions& options,
                                     const StoredExperiment& experiment,
                                     const ResourceRequest& request) {
  const Result<Provenance> began = DecodeProvenance(experiment.provenance);
  const bool is_told = options.cpus || options.gpus || !began.ok();
  if (is_told || (!began->cpus && !began->gpus)) {
    return FindLocalCapacity(request, options.cpus, options.gpus);
  }
  std::string offer;
  if (began->cpus) offer += " --cpus " + std::to_string(*began->cpus);
  if (began->gpus) offer += " --gpus " + std::to_string(*began->gpus);
  std::cerr << "the tuner's own worker offers what it did when " << experiment.name
            << " began:" << offer << "\n";
  return FindLocalCapacity(request, began->cpus, began->gpus);
}

// The named experiment, or the latest one that is not finished.
Result<StoredExperiment> FindToResume(const ResumeOptions& options, Store& store) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store.ListExperiments());
  const StoredExperiment* latest = nullptr;
  std::string names;  // The latest first.
  for (auto it = experiments.rbegin(); it != experiments.rend(); ++it) {
    // Sweeps of tune ask have no tuner.
    const Result<Value> spec = ParseJson(it->spec);
    if (spec.ok() && IsAskTell(*spec)) {
      if (it->name != options.name) continue;
      return InvalidArgument("nothing to resume: " + it->name +
                             " is a sweep of tune ask; go on with tune ask and tune tell");
    }
    names += (names.empty() ? "" : ", ") + it->name;
    if (latest == nullptr) latest = &*it;
    const bool is_open =
        it->status == ExperimentStatus::kRunning || it->status == ExperimentStatus::kInterrupted;
    if (options.name.empty() ? is_open : it->name == options.name) return *it;
  }
  if (latest == nullptr) {
    return InvalidArgument("nothing to resume: " + options.db_path +
                           (experiments.empty() ? " holds no sweep"
                                                : " holds only sweeps of tune ask; go on with "
                                                  "tune ask and tune tell"));
  }
  if (options.name.empty()) return *latest;  // Finished; the caller says so.
  return InvalidArgument("nothing to resume: there is no sweep '" + options.name + "' in " +
                         options.db_path + "; it holds " + names);
}

// What --space FILE and --set change.
struct ChangesOfResume {
  std::optional<SettingsChanged> event;
  std::vector<std::string> lines;  // For a person.
  int64_t samples = 0;             // The file's; those of the sweep without one.
  std::vector<Secret> secrets;     // Which the event does not hold.
};

// Settings may change; what the sweep was decided by must be the same.
Result<ChangesOfResume> ReadChanges(const ResumeOptions& options,
                                    const StoredExperiment& experiment,
                                    const ExperimentSpec& present) {
  ChangesOfResume changes;
  changes.samples = experiment.samples;
  if (options.space_path.empty() && options.overrides.empty()) return changes;
  Value document = present.document;
  if (options.space_path.empty()) {
    for (const std::string& assignment : options.overrides) {
      TUNE_RETURN_IF_ERROR(ApplyOverride(assignment, document));
      if (assignment.starts_with("samples=")) {
        return InvalidArgument(
            "--set: the number of samples is changed with tune resume --samples");
      }
    }
    changes.secrets = TakeSecrets(document);
  } else {
    TUNE_ASSIGN_OR_RETURN(const ExperimentSpec file,
                          ReadSpecFile(options.space_path, options.overrides));
    document = file.document;
    changes.samples = file.samples;
    if (IsMore(file.samples, experiment.samples)) {
      changes.lines.push_back("samples is " + std::to_string(file.samples) + ", was " +
                              std::to_string(experiment.samples));
    }
    changes.secrets = file.secrets;
  }
  const std::string source = options.space_path.empty() ? "--set" : options.space_path;
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec wanted,
                        InterpretSpec(document, source, present.base_dir, true));
  std::vector<std::string> differences = DescribeSpecDifferences(present, wanted);
  if (options.space_path.empty() && wanted.seed != present.seed) {
    differences.push_back("seed: it keys every draw of the sweep");
  } else if (wanted.seed && *wanted.seed != experiment.seed) {
    differences.push_back("seed: " + std::to_string(*wanted.seed) + ", where the sweep has " +
                          std::to_string(experiment.seed) + ", which keys every draw of it");
  }
  if (options.space_path.empty() && wanted.name != present.name) {
    differences.push_back("name: its artifacts lie under it");
  }
  if (!differences.empty()) {
    std::string text = source + " differs from what " + experiment.name +
                       " was begun with; leave it out, or begin a new sweep with tune run:";
    for (const std::string& difference : differences) text += "\n  " + difference;
    return InvalidArgument(text);
  }
  const Value changed = WithSettings(present.document, document);
  const std::vector<std::string> settings = DescribeSettingsChanges(present.document, changed);
  if (!settings.empty()) changes.event = SettingsChanged{ToJson(changed)};
  changes.lines.insert(changes.lines.end(), settings.begin(), settings.end());
  return changes;
}

int64_t ErrorCount(const ExperimentController& controller) {
  return std::count_if(
      controller.trials().begin(), controller.trials().end(),
      [](const TrialRecord& trial) { return trial.row.status == TrialStatus::kError; });
}

bool IsOver(const StoredExperiment& experiment) {
  return experiment.status == ExperimentStatus::kFinished ||
         experiment.status == ExperimentStatus::kStopped;
}

// The caller holds the writer's lock: no tuner lives.
void CleanUp(const ResumeOptions& options, const StoredExperiment& experiment, Instant now) {
  const std::string ended = EndWhatTrialsLeftBehind(options.db_path);
  if (!ended.empty()) Tell(ended);
  const auto stored = StorageOf(experiment, options.db_path);
  const StopLater patience(kStoragePatience);
  const Status cleaned = stored ? CleanUpStored(options.db_path, *stored, now, patience.token())
                                : CleanUpAfterTuner(options.db_path, experiment.name, now);
  if (!cleaned.ok()) Tell("warning: " + cleaned.message() + " (tune gc tries again)");
}

// What its trials on this machine need may have been moved since: without it each would fail.
Status CheckStillThere(const ExperimentSpec& spec, const ExperimentController& controller,
                       const SweepSurroundings& surroundings, const std::string& data_dir) {
  if (!surroundings.has_local_worker() || controller.trials().empty()) return OkStatus();
  const Status there = CheckInputs(spec.trainable, controller.trials().front().configuration,
                                   {spec.base_dir, data_dir, EnvironmentText("PATH")});
  if (there.ok()) return there;
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "command") return there;
  return InvalidArgument(there.message() +
                         "; put back what was moved, or say where it is now: --set "
                         "trainable.working_dir=FOLDER, with its whole path");
}

void SayFinished(const StoredExperiment& experiment, const std::string& db_path) {
  const bool has_limit = experiment.spec.find("\"sweep_time\"") != std::string::npos;
  std::cerr << "sweep " << experiment.name << " is finished; nothing to resume ("
            << ShellCommand("resume", experiment.name, db_path)
            << " --samples N extends it, --errored tries failed trials again"
            << (has_limit ? ", --set limits.sweep_time=TIME goes on after that limit" : "")
            << ")\n";
}

// A command from elsewhere has little time, and ends with its connection.
Status CheckIsFromHere() {
  if (!AsksFor()) return OkStatus();
  return FailedPrecondition(
      "no head holds this database, and a command from elsewhere does not run a sweep itself; "
      "start "
      "tune head where the database is, or resume the sweep there");
}

Result<SweepSurroundings> SurroundingsOf(const ResumeOptions& options,
                                         const StoredExperiment& experiment,
                                         const ExperimentSpec& spec) {
  TUNE_RETURN_IF_ERROR(CheckIsFromHere());
  SweepSurroundings surroundings;
  surroundings.db_path = options.db_path;
  surroundings.program_dir = options.program_dir;
  TUNE_ASSIGN_OR_RETURN(surroundings.local, LocalOfResume(options, experiment, spec.resources));
  TUNE_ASSIGN_OR_RETURN(
      surroundings.listen,
      ListenOfResume(options.listen, ArtifactsDirOf(options.db_path), experiment.name));
  surroundings.token_validity = options.token_validity;
  surroundings.checkpoint_bytes_max = options.checkpoint_bytes_max;
  surroundings.log = options.log;
  if (options.ui) surroundings.page = options.page;
  TUNE_RETURN_IF_ERROR(CheckFeasible(spec.resources, surroundings));
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (kind.ok()) surroundings.trainable_kind = *kind;
  return surroundings;
}

// What its trials need here, and what workers of others need to have of it.
Status CheckAndPack(const ResumeOptions& options, const StoredExperiment& experiment,
                    const ExperimentSpec& spec, const ExperimentController& controller,
                    SweepSurroundings& surroundings) {
  const std::string place = "the stored spec of " + experiment.name;
  TUNE_RETURN_IF_ERROR(CheckFolderIsHere(experiment));
  TUNE_RETURN_IF_ERROR(CheckEnvironment(spec, surroundings, options.program_dir).At(place));
  TUNE_RETURN_IF_ERROR(CheckStillThere(spec, controller, surroundings, options.data_dir).At(place));
  TUNE_RETURN_IF_ERROR(CheckStorage(spec.checkpoint.storage, experiment.name));
  if (const auto storage = StorageOf(experiment, spec.checkpoint.storage, options.db_path)) {
    TUNE_RETURN_IF_ERROR(ClaimStorage(*storage, /*is_new=*/false));
  }
  TUNE_ASSIGN_OR_RETURN(surroundings.package,
                        PackWorkingFolder(spec, options.db_path, !surroundings.listen.empty()));
  for (const std::string& warning : surroundings.package.warnings) Tell("warning: " + warning);
  return OkStatus();
}

Result<std::unique_ptr<SqliteStore>> OpenToResume(const std::string& db_path, Instant now) {
  TUNE_RETURN_IF_ERROR(MayChangeAlone());
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(db_path, Access::kWrite, now);
  if (store.status().code() != StatusCode::kNotFound) return store;
  return NotFound("nothing to resume: " + store.status().message());
}

// A limit of its time that ended it is another one now.
bool HasOtherTime(const StoredExperiment& experiment, const ExperimentSpec& spec,
                  const ExperimentController& was) {
  const bool is_short = was.trial_count_max() < 0 ||
                        static_cast<int64_t>(was.trials().size()) < was.trial_count_max();
  return experiment.status == ExperimentStatus::kFinished && is_short &&
         spec.limits.sweep_time != was.options().spec.limits.sweep_time;
}

// Another one than the sweep has, or without an end once more.
bool HasOtherTotal(std::optional<int64_t> samples, int64_t present) {
  return samples && (*samples != present || Extends(samples, present));
}

int Resume(const ResumeOptions& options, Background* background) {
  const RealClock clock;
  Result<std::unique_ptr<SqliteStore>> store = OpenToResume(options.db_path, clock.Now());
  if (!store.ok()) return Complain(store.status());
  const Result<StoredExperiment> experiment = FindToResume(options, **store);
  if (!experiment.ok()) return Complain(experiment.status());
  const bool has_other_total = HasOtherTotal(options.samples, experiment->samples);
  const bool may_change = !options.space_path.empty() || !options.overrides.empty();
  if (IsOver(*experiment) && !has_other_total && !options.errored && !may_change) {
    CleanUp(options, *experiment, clock.Now());  // It may have been killed after its last commit.
    SayFinished(*experiment, options.db_path);
    return 0;
  }

  Result<RecoveredExperiment> recovered =
      Recover(*experiment, ArtifactsDirOf(options.db_path), **store);
  if (!recovered.ok()) return Complain(recovered.status());
  ExperimentSpec spec = recovered->controller->options().spec;
  const Result<ChangesOfResume> changes = ReadChanges(options, *experiment, spec);
  if (!changes.ok()) return Complain(changes.status());
  if (changes->event) {
    Result<ExperimentSpec> changed =
        InterpretStoredSpec(changes->event->document, experiment->name, spec.base_dir, true);
    if (!changed.ok()) return Complain(changed.status());
    spec = *std::move(changed);
  }
  const int64_t total = options.samples.value_or(changes->samples);
  const bool extends = IsMore(total, experiment->samples) || Extends(options.samples, total);
  if (options.samples || extends) {
    const Status s = CheckNewTotal(total, *experiment, recovered->controller->options());
    if (!s.ok()) return Complain(s);
  }
  const int64_t error_count = options.errored ? ErrorCount(*recovered->controller) : 0;
  const ExperimentController& was = *recovered->controller;
  const bool goes_on = HasOtherTime(*experiment, spec, was);
  if (IsOver(*experiment) && !extends && error_count == 0 && !goes_on) {
    std::cerr << "sweep " << experiment->name << " is finished"
              << (options.errored ? " and no trial of it failed" : "") << "; nothing to resume\n";
    return 0;
  }
  Result<SweepSurroundings> surroundings = SurroundingsOf(options, *experiment, spec);
  if (!surroundings.ok()) return Complain(surroundings.status());
  SetSecrets(changes->secrets, std::cerr);
  if (const Status s = CheckAndPack(options, *experiment, spec, was, *surroundings); !s.ok()) {
    return Complain(s);
  }
  if (const Status s = LeaveTerminal(background, experiment->name, *surroundings); !s.ok()) {
    return Complain(s.At("--detach"));
  }
  const std::vector<std::string> program_changes = WarnOfDifferences(
      *experiment, GatherProvenance(spec, {TUNE_VERSION, options.command_line, options.data_dir}));
  CleanUp(options, *experiment, clock.Now());
  Result<std::vector<Event>> first_events =
      KnownAtStart(spec, recovered->last_step, options.db_path);
  if (!first_events.ok()) return Complain(first_events.status());
  first_events->push_back(TunerRestarted{!surroundings->listen.empty()});
  if (program_changes != was.program_changes()) {
    first_events->push_back(ProgramChanged{program_changes});
  }
  if (changes->event) first_events->push_back(*changes->event);
  if (extends) first_events->push_back(SamplesExtended{total});
  if (options.errored && error_count > 0) first_events->push_back(ErroredRetried{});
  if (options.errored && error_count == 0) std::cerr << "no trial failed: --errored does nothing\n";
  for (const std::string& line : changes->lines) Tell("from now on " + line);
  std::cerr << "sweep " << experiment->name << ": going on from "
            << Counted(static_cast<int64_t>(recovered->controller->trials().size()), "trial")
            << "\n";
  return ConductSweep(*surroundings, *experiment, *recovered->controller, recovered->last_step,
                      *first_events, **store, clock);
}

}  // namespace

namespace {

// Its workers are there already, and so is all else that options say.
Status CheckForHead(const ResumeOptions& options) {
  const std::pair<bool, const char*> others[] = {{!options.space_path.empty(), "--space"},
                                                 {!options.overrides.empty(), "--set"},
                                                 {options.cpus.has_value(), "--cpus"},
                                                 {options.gpus.has_value(), "--gpus"},
                                                 {!options.listen.empty(), "--listen"},
                                                 {!options.log.empty(), "--log"},
                                                 {options.ui, "--ui"},
                                                 {options.detach, "--detach"}};
  for (const auto& [is_given, name] : others) {
    if (is_given) {
      return InvalidArgument(std::string(name) +
                             ": is not for a sweep of a head, which holds this database");
    }
  }
  return OkStatus();
}

// It is over, and nothing of it is to be extended or tried again.
Result<bool> HasNothingToResume(const ResumeOptions& options, const FoundSweep& sweep,
                                Database& database) {
  const bool is_over = sweep.status == "FINISHED" || sweep.status == "STOPPED";
  if (!is_over || HasOtherTotal(options.samples, sweep.samples)) return false;
  if (!options.errored) return true;
  TUNE_ASSIGN_OR_RETURN(
      const KeptStatement failed,
      database.Kept("SELECT 1 FROM trial_rows WHERE experiment = ?1 AND status = 'ERROR' LIMIT 1"));
  failed->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_failed, failed->Step());
  return !has_failed;
}

int ResumeOnHead(const ResumeOptions& options, const LockHolder& head) {
  if (const Status s = CheckForHead(options); !s.ok()) return Complain(s);
  const auto database = OpenForQueries(options.db_path);
  if (!database.ok()) return Complain(database.status());
  const Result<FoundSweep> sweep = FindRunSweep(**database, options.name);
  if (!sweep.ok()) return Complain(sweep.status());
  const Result<bool> has_nothing = HasNothingToResume(options, *sweep, **database);
  if (!has_nothing.ok()) return Complain(has_nothing.status());
  if (*has_nothing) {
    Tell("sweep " + sweep->name + " is over" +
         (options.errored ? " and no trial of it failed" : "") +
         "; nothing to resume (--samples N extends it, --errored tries failed trials again)");
    return 0;
  }
  ControlRequest request;
  request.verb = ControlVerb::kResume;
  request.tuner = head.pid;
  request.sweep = sweep->name;
  request.samples = options.samples;
  request.errored = options.errored;
  constexpr Duration kPatience = Milliseconds(60'000);
  const Result<ControlAnswer> answer =
      AskTuner(ArtifactsDirOf(options.db_path), request, RealClock(), kPatience);
  if (!answer.ok()) return Complain(answer.status().At(DescribeHolder(head)));
  if (answer->status.code() == StatusCode::kFailedPrecondition && sweep->status == "RUNNING") {
    // The head holds the sweep, as any tuner does that lives: 1.
    return Complain(Unavailable(DescribeHolder(head) + ": " + answer->status.message()));
  }
  if (!answer->status.ok()) return Complain(answer->status);
  for (const std::string& line : answer->lines) std::cout << Printable(line) << "\n";
  return 0;
}

}  // namespace

int ResumeCommand(const ResumeOptions& options) {
  if (const auto holder = FindLockHolder(options.db_path); holder && holder->is_head) {
    return ResumeOnHead(options, *holder);
  }
  if (const Status s = CheckLog(options.log); !s.ok()) return Complain(s);
  if (const Status s = CheckPage(options.ui, options.page); !s.ok()) return Complain(s);
  if (options.listen != kListenOff) {
    if (const Status s = CheckListen(options.listen); !s.ok()) return Complain(s);
  }
  if (access(options.db_path.c_str(), F_OK) != 0) {
    return Complain(InvalidArgument("nothing to resume: there is no database " + options.db_path));
  }
  if (!options.detach) return Resume(options, nullptr);
  return RunInBackground([&](Background& background) { return Resume(options, &background); },
                         std::cout, std::cerr);
}

}  // namespace tune
