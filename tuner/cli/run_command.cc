#include "tuner/cli/run_command.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "search/auto_choice.h"
#include "search/searcher.h"
#include "trial_runner/fusion.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/artifact_cleanup.h"
#include "tuner/cli/background.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/configuration_check.h"
#include "tuner/cli/gather_provenance.h"
#include "tuner/cli/lane_speeds.h"
#include "tuner/cli/listening.h"
#include "tuner/cli/live_view.h"
#include "tuner/cli/plan_command.h"
#include "tuner/cli/secret_environment.h"
#include "tuner/cli/stored_ask_tell.h"
#include "tuner/cli/sweep.h"
#include "tuner/earlier_sweep.h"
#include "tuner/export/optuna_study.h"
#include "tuner/provenance.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"
#include "tuner/spec_difference.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {
namespace {

constexpr int kExitUsage = 2;

int Complain(const Status& status) { return Complain(status, std::cerr); }

// The first configuration, with data and weights that are there: all that can be known before the
// start. Prints advice, if there is some.
Result<Configuration> CheckTrials(const ExperimentSpec& spec, uint64_t seed,
                                  const std::string& data_dir) {
  TUNE_ASSIGN_OR_RETURN(CheckedConfigurations checked, CheckConfigurations(spec, seed));
  TUNE_RETURN_IF_ERROR(CheckInputs(spec.trainable, checked.first,
                                   {spec.base_dir, data_dir, EnvironmentText("PATH")}));
  if (!checked.advice.empty()) std::cerr << "warning: " << checked.advice << "\n";
  return std::move(checked.first);
}

// Decodes the classifier's images into their cache before the start, so that broken ones are named
// and counted, and a class that loses all of them is known, while nothing has begun. What there is
// to say, the program food11 says.
bool PrepareData(const Configuration& configuration, const std::string& base_dir,
                 const std::string& data_dir, const std::string& program_dir) {
  const Value* const named = configuration.Find("data");
  const std::string data = named != nullptr && named->is_string() ? named->AsString() : data_dir;
  if (data.empty() || data == "synthetic") return true;
  const std::string folder = (std::filesystem::path(base_dir) / data).lexically_normal().string();
  const Value* const size = configuration.Find("image_size");
  const std::string image_size =
      size != nullptr && size->is_number() ? std::to_string(std::llround(size->AsDouble())) : "224";
  const std::string program = program_dir + "/food11";
  const char* const argv[] = {program.c_str(), "prepare",      "--quiet",          "--data",
                              folder.c_str(),  "--image-size", image_size.c_str(), nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), nullptr, nullptr, const_cast<char* const*>(argv), environ);
  if (error != 0) {
    std::cerr << "tune: cannot start " << program << ": " << strerror(error)
              << "; it must be beside tune\n";
    return false;
  }
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

// Workers of other machines have environments of their own.
Status CheckEnvironment(const ExperimentSpec& spec, const SweepSurroundings& surroundings,
                        const std::string& program_dir) {
  const bool runs_here = surroundings.local.cpu_milli > 0 || !surroundings.local.devices.empty();
  if (!runs_here) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(spec.trainable));
  TUNE_ASSIGN_OR_RETURN(const std::string program, TrialProgram(kind));
  const std::string path = program_dir + "/" + program;
  if (access(path.c_str(), X_OK) != 0) {
    return NotFound("trainable: " + kind + " is not in this installation: " + path + ": " +
                    strerror(errno) +
                    "; a wheel has no food11, the Debian packages and scripts/build have it");
  }
  return CheckVariables(spec.trainable);
}

Status CheckPage(bool is_wanted, const PagePlace& place) {
  if (is_wanted) return CheckPagePlace(place, RealClock().Now());
  if (!place.is_given()) return OkStatus();
  return InvalidArgument(place.ToArguments().front() +
                         " says where --ui is served; without --ui it does nothing");
}

// What is not as it was when the sweep began; it goes on all the same. Returns what of that the
// trials' values may show.
std::vector<std::string> WarnOfDifferences(const StoredExperiment& experiment,
                                           const Provenance& now) {
  const Result<Provenance> was = DecodeProvenance(experiment.provenance);
  if (!was.ok()) return {};
  for (const std::string& line : DescribeDifferences(*was, now)) {
    std::cerr << "warning: changed since " << experiment.name << " began: " << line << "\n";
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

std::vector<std::string> WithShortcuts(const RunOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.samples) overrides.push_back("samples=" + std::to_string(*options.samples));
  if (options.max_concurrent) {
    overrides.push_back("limits.max_concurrent=" + std::to_string(*options.max_concurrent));
  }
  return overrides;
}

// "12 (6 for each of 2 samples: ...)": where a user who reads samples as trials would be surprised.
std::string TrialsText(int64_t trials, int64_t samples) {
  if (trials < 0) return "until a limit ends it";
  std::string text = std::to_string(trials);
  if (samples > 1 && trials > samples && trials % samples == 0) {
    text += " (" + std::to_string(trials / samples) + " for each of " + Counted(samples, "sample") +
            ": grid_search and repeat multiply them)";
  }
  return text;
}

void PrintPlan(const ExperimentSpec& spec, int64_t trial_count, uint64_t seed,
               const SweepSurroundings& surroundings) {
  std::cout << "dry run: " << spec.name << " would start with seed " << seed << "\n"
            << "  trials     " << TrialsText(trial_count, spec.samples) << "\n  metric     "
            << spec.metric << " (" << (spec.mode == Mode::kMax ? "max" : "min")
            << ")\n  scheduler  " << SchedulerText(spec) << "\n  each needs "
            << DescribeRequest(spec.resources) << "\n  worker     "
            << DescribeCapacity(surroundings.local) << "\n  database   " << surroundings.db_path
            << "\nnothing was started or written\n";
}

// From here on a detached sweep speaks to its log; who waits for it is told when it runs.
Status LeaveTerminal(Background* background, const std::string& sweep,
                     SweepSurroundings& surroundings) {
  if (background == nullptr) return OkStatus();
  const std::string& db = surroundings.db_path;
  TUNE_RETURN_IF_ERROR(background->LogTo(ArtifactsDirOf(db) + "/" + sweep + "/tuner.log"));
  surroundings.on_running = [background, text = "sweep " + sweep + " runs in the background (pid " +
                                                std::to_string(getpid()) + "); " +
                                                ShellCommand("attach", sweep, db) + " shows it, " +
                                                ShellCommand("stop", sweep, db) +
                                                " ends it"] { background->TellRunning(text); };
  return OkStatus();
}

void SayWhatAutoChose(const ExperimentController& controller, uint64_t seed) {
  const ExperimentSpec& spec = controller.options().spec;
  const Value* const algorithm = spec.search.is_map() ? spec.search.Find("algorithm") : nullptr;
  if (algorithm == nullptr || *algorithm != Value("auto")) return;
  const AutoChoice choice =
      ChooseAlgorithm(ProblemOf(spec, controller.options().space, spec.samples, seed));
  std::cerr << "search: auto takes " << choice.why << "\n";
}

// What earlier sweeps of the database tell this one: journalled, so that a resume decides by the
// same, whatever they do meanwhile.
Result<std::vector<Event>> KnownAtStart(const ExperimentSpec& spec, int64_t last_step,
                                        const std::string& db_path) {
  std::vector<Event> events;
  if (last_step > 0 || !MayFuse(spec.trainable)) return events;
  TUNE_ASSIGN_OR_RETURN(std::vector<LaneSpeedRow> speeds, ReadLaneSpeeds(db_path));
  if (!speeds.empty()) events.push_back(LaneSpeedsKnown{std::move(speeds)});
  return events;
}

// The sweep that `from` names is there and fits. For a dry run; the run itself looks again.
Status CheckFrom(const ExperimentSpec& spec, const SearchSpace& space, const std::string& db_path) {
  if (spec.from.empty() || StudyOf(spec) != nullptr) return OkStatus();
  const Instant now = RealClock().Now();
  const Result<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(db_path, Access::kWrite, now);
  // A living tuner holds it: the run itself will say so.
  if (store.status().code() == StatusCode::kFailedPrecondition) return OkStatus();
  if (!store.ok()) return store.status();
  return ReadEarlierAtStart(spec, space, now, **store).status();
}

// All has been checked: the sweep is stored and conducted.
int StoreAndConduct(const RunOptions& options, const ExperimentSpec& spec, uint64_t seed,
                    bool seed_is_drawn, SweepSurroundings& surroundings, Background* background) {
  const RealClock clock;
  Result<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(options.db_path, Access::kCreate, clock.Now());
  if (!store.ok()) return Complain(store.status());
  Result<std::vector<Event>> first_events = KnownAtStart(spec, 0, options.db_path);
  if (!first_events.ok()) return Complain(first_events.status());

  NewExperiment wanted;
  wanted.name = spec.name;
  wanted.metric = spec.metric;
  wanted.mode = spec.mode == Mode::kMax ? "max" : "min";
  wanted.seed = seed;
  wanted.samples = spec.samples;
  wanted.spec = ToJson(spec.document);
  wanted.base_dir = spec.base_dir;
  wanted.provenance = EncodeProvenance(
      GatherProvenance(spec, {TUNE_VERSION, WithoutSecrets(options.command_line, spec.secrets),
                              options.data_dir, options.cpus, options.gpus}));
  wanted.created_at = clock.Now();
  // Before the sweep is made: what it wants to learn from must be there.
  const Result<SearchSpace> space = SpaceOf(spec);
  if (!space.ok()) return Complain(space.status());
  Result<EarlierSweep> earlier = ReadEarlierAtStart(spec, *space, wanted.created_at, **store);
  if (!earlier.ok()) return Complain(earlier.status());
  const Result<StoredExperiment> experiment = (*store)->CreateExperiment(wanted);
  if (!experiment.ok()) return Complain(experiment.status());
  Result<std::unique_ptr<ExperimentController>> controller = MakeController(
      spec, seed, experiment->name, ArtifactsDirOf(options.db_path), std::move(earlier->trials));
  if (!controller.ok()) return Complain(controller.status());
  if (const Status s = LeaveTerminal(background, experiment->name, surroundings); !s.ok()) {
    return Complain(s.At("--detach"));
  }

  std::cerr << "sweep " << experiment->name << ": seed " << seed
            << (seed_is_drawn ? " (drawn)" : "") << ", database " << options.db_path << "\n";
  if (options.print_name) std::cout << experiment->name << std::endl;
  SayWhatAutoChose(**controller, seed);
  if (!earlier->note.empty()) std::cerr << earlier->note << "\n";
  return ConductSweep(surroundings, *experiment, **controller, 0, *first_events, **store, clock);
}

}  // namespace

int RunCommand(const RunOptions& options) {
  Result<ExperimentSpec> spec = ReadSpecFile(options.space_path, WithShortcuts(options));
  if (!spec.ok()) return Complain(spec.status());
  return RunSpec(*std::move(spec), options);
}

int RunSpec(ExperimentSpec spec, const RunOptions& options) {
  if (options.name) {
    if (const Status s = CheckSweepName(*options.name).At("--name"); !s.ok()) return Complain(s);
    spec.name = *options.name;
  }
  // A sweep that was begun otherwise, long ago, may still have such a name.
  if (spec.name.starts_with('-')) {
    return Complain(InvalidArgument("--name: read " + Printable(spec.name) +
                                    ", expected a name that does not begin with '-': commands "
                                    "would take it for an option"));
  }
  const bool seed_is_drawn = !options.seed && !spec.seed;
  const uint64_t seed = options.seed ? *options.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;

  SweepSurroundings surroundings;
  surroundings.db_path = options.db_path;
  surroundings.program_dir = options.program_dir;
  Result<WorkerCapacity> local = FindLocalCapacity(spec.resources, options.cpus, options.gpus);
  if (!local.ok()) return Complain(local.status());
  surroundings.local = *std::move(local);
  surroundings.listen = options.listen;
  surroundings.token_validity = options.token_validity;
  surroundings.checkpoint_bytes_max = options.checkpoint_bytes_max;
  surroundings.log = options.log;
  if (options.ui) surroundings.page = options.page;
  if (const Status s = CheckListen(options.listen); !s.ok()) return Complain(s);
  if (const Status s = CheckLog(options.log); !s.ok()) return Complain(s);
  if (const Status s = CheckPage(options.ui, options.page); !s.ok()) return Complain(s);
  if (const Status s = CheckFeasible(spec.resources, surroundings); !s.ok()) return Complain(s);
  if (const Status s = TakeOptunaTrials(spec); !s.ok()) return Complain(s);
  SetSecrets(spec.secrets, std::cerr);
  Result<Configuration> first = CheckTrials(spec, seed, options.data_dir);
  if (const Status s = CheckEnvironment(spec, surroundings, options.program_dir);
      first.ok() && !s.ok())
    first = s;
  if (!first.ok()) {
    return Complain(options.space_path.empty() ? first.status()
                                               : InFile(options.space_path, first.status()));
  }
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (kind.ok()) surroundings.trainable_kind = *kind;
  const bool is_new = access(options.db_path.c_str(), F_OK) != 0;
  if (const Status s = is_new ? CheckArtifactsAreOwn(options.db_path) : OkStatus(); !s.ok()) {
    return Complain(s);
  }
  const bool needs_database = !spec.from.empty() && StudyOf(spec) == nullptr;
  if (needs_database && is_new) {
    return Complain(InvalidArgument("from: there is no database " + options.db_path));
  }
  const Result<SearchSpace> space = SpaceOf(spec);
  if (!space.ok()) return Complain(space.status());
  if (const Status s = CheckStudy(spec, *space); !s.ok()) return Complain(s);
  for (const std::string& warning : WarningsBeforeStart(spec, *space)) {
    std::cerr << "warning: " << warning << "\n";
  }
  if (options.dry_run) {
    if (const Status s = CheckFrom(spec, *space, options.db_path); !s.ok()) return Complain(s);
    PrintPlan(spec, TrialCountOf(spec, *space, spec.samples), seed, surroundings);
    return 0;
  }
  if (surroundings.trainable_kind == "food11" &&
      !PrepareData(*first, spec.base_dir, options.data_dir, options.program_dir)) {
    return kExitUsage;
  }
  Result<WorkingPackage> package =
      PackWorkingFolder(spec, options.db_path, !surroundings.listen.empty());
  if (!package.ok()) return Complain(package.status());
  for (const std::string& warning : package->warnings) std::cerr << "warning: " << warning << "\n";
  surroundings.package = *std::move(package);

  const auto conduct = [&](Background* background) {
    return StoreAndConduct(options, spec, seed, seed_is_drawn, surroundings, background);
  };
  if (!options.detach) return conduct(nullptr);
  return RunInBackground([&](Background& background) { return conduct(&background); }, std::cout,
                         std::cerr);
}

namespace {

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

// Whether a sweep of `samples` trials is longer than one of `others`; -1 has no end.
bool IsMore(int64_t samples, int64_t others) {
  return samples != others && (samples < 0 || (others >= 0 && samples > others));
}

// The new total of `tune resume --samples`: by the rules of the file, and not below the present
// one.
Status CheckNewTotal(int64_t samples, const StoredExperiment& experiment,
                     const ControllerOptions& sweep) {
  const std::string read = "--samples: read " + std::to_string(samples);
  if (samples == 0 || samples < -1 || samples > limits::kSamplesMax) {
    return InvalidArgument(read + ", expected an integer from 1 to " +
                           std::to_string(limits::kSamplesMax) + ", or -1 for no limit");
  }
  if (IsMore(experiment.samples, samples)) {
    return InvalidArgument(
        read + ", but " + experiment.name + " has " +
        (experiment.samples < 0 ? "no limit" : std::to_string(experiment.samples)) +
        " already; the new total cannot be less");
  }
  return MakeSearcher(sweep.spec.search, ProblemOf(sweep.spec, sweep.space, samples, sweep.seed))
      .status();
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
    changes.secrets = file.secrets;
  }
  const std::string source = options.space_path.empty() ? "--set" : options.space_path;
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec wanted,
                        InterpretSpec(document, source, present.base_dir, true));
  std::vector<std::string> differences = DescribeSpecDifferences(present, wanted);
  if (options.space_path.empty() && wanted.seed != present.seed) {
    differences.push_back("seed: it keys every draw of the sweep");
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
  changes.lines = DescribeSettingsChanges(present.document, changed);
  if (!changes.lines.empty()) changes.event = SettingsChanged{ToJson(changed)};
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
  if (!ended.empty()) std::cerr << ended << "\n";
  if (const Status s = CleanUpAfterTuner(options.db_path, experiment.name, now); !s.ok()) {
    std::cerr << "warning: " << s.message() << " (tune gc tries again)\n";
  }
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
                         "trainable.working_dir=FOLDER");
}

int Resume(const ResumeOptions& options, Background* background) {
  const RealClock clock;
  Result<std::unique_ptr<SqliteStore>> store =
      SqliteStore::Open(options.db_path, Access::kWrite, clock.Now());
  if (!store.ok() && store.status().code() == StatusCode::kNotFound) {
    return Complain(NotFound("nothing to resume: " + store.status().message()));
  }
  if (!store.ok()) return Complain(store.status());
  const Result<StoredExperiment> experiment = FindToResume(options, **store);
  if (!experiment.ok()) return Complain(experiment.status());
  const bool has_other_total = options.samples && *options.samples != experiment->samples;
  const bool may_change = !options.space_path.empty() || !options.overrides.empty();
  if (IsOver(*experiment) && !has_other_total && !options.errored && !may_change) {
    CleanUp(options, *experiment, clock.Now());  // It may have been killed after its last commit.
    std::cerr << "sweep " << experiment->name << " is finished; nothing to resume ("
              << ShellCommand("resume", experiment->name, options.db_path)
              << " --samples N extends it, --errored tries failed trials again"
              << (experiment->spec.find("\"sweep_time\"") == std::string::npos
                      ? ""
                      : ", --set limits.sweep_time=TIME goes on after that limit")
              << ")\n";
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
  const bool extends = IsMore(total, experiment->samples);
  if (options.samples || extends) {
    const Status s = CheckNewTotal(total, *experiment, recovered->controller->options());
    if (!s.ok()) return Complain(s);
  }
  const int64_t error_count = options.errored ? ErrorCount(*recovered->controller) : 0;
  // A limit that ended it may be another one now.
  const ExperimentController& was = *recovered->controller;
  const bool is_short = was.trial_count_max() < 0 ||
                        static_cast<int64_t>(was.trials().size()) < was.trial_count_max();
  const bool goes_on = changes->event && experiment->status == ExperimentStatus::kFinished &&
                       is_short && spec.limits.sweep_time != was.options().spec.limits.sweep_time;
  if (IsOver(*experiment) && !extends && error_count == 0 && !goes_on) {
    std::cerr << "sweep " << experiment->name << " is finished"
              << (options.errored ? " and no trial of it failed" : "") << "; nothing to resume\n";
    return 0;
  }
  SweepSurroundings surroundings;
  surroundings.db_path = options.db_path;
  surroundings.program_dir = options.program_dir;
  Result<WorkerCapacity> local = LocalOfResume(options, *experiment, spec.resources);
  if (!local.ok()) return Complain(local.status());
  surroundings.local = *std::move(local);
  const Result<std::string> listen =
      ListenOfResume(options.listen, ArtifactsDirOf(options.db_path), experiment->name);
  if (!listen.ok()) return Complain(listen.status());
  surroundings.listen = *listen;
  surroundings.token_validity = options.token_validity;
  surroundings.checkpoint_bytes_max = options.checkpoint_bytes_max;
  surroundings.log = options.log;
  if (options.ui) surroundings.page = options.page;
  if (const Status s = CheckFeasible(spec.resources, surroundings); !s.ok()) return Complain(s);
  SetSecrets(changes->secrets, std::cerr);
  if (const Status s = CheckEnvironment(spec, surroundings, options.program_dir); !s.ok()) {
    return Complain(s.At("the stored spec of " + experiment->name));
  }
  if (const Status s = CheckStillThere(spec, was, surroundings, options.data_dir); !s.ok()) {
    return Complain(s.At("the stored spec of " + experiment->name));
  }
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (kind.ok()) surroundings.trainable_kind = *kind;
  Result<WorkingPackage> package =
      PackWorkingFolder(spec, options.db_path, !surroundings.listen.empty());
  if (!package.ok()) return Complain(package.status());
  for (const std::string& warning : package->warnings) std::cerr << "warning: " << warning << "\n";
  surroundings.package = *std::move(package);

  if (const Status s = LeaveTerminal(background, experiment->name, surroundings); !s.ok()) {
    return Complain(s.At("--detach"));
  }
  const std::vector<std::string> program_changes = WarnOfDifferences(
      *experiment, GatherProvenance(spec, {TUNE_VERSION, options.command_line, options.data_dir}));
  CleanUp(options, *experiment, clock.Now());
  Result<std::vector<Event>> first_events =
      KnownAtStart(spec, recovered->last_step, options.db_path);
  if (!first_events.ok()) return Complain(first_events.status());
  first_events->push_back(TunerRestarted{!surroundings.listen.empty()});
  if (program_changes != was.program_changes()) {
    first_events->push_back(ProgramChanged{program_changes});
  }
  if (changes->event) first_events->push_back(*changes->event);
  if (extends) first_events->push_back(SamplesExtended{total});
  if (options.errored && error_count > 0) first_events->push_back(ErroredRetried{});
  if (options.errored && error_count == 0) std::cerr << "no trial failed: --errored does nothing\n";
  for (const std::string& line : changes->lines) std::cerr << "from now on " << line << "\n";
  std::cerr << "sweep " << experiment->name << ": going on from "
            << Counted(static_cast<int64_t>(recovered->controller->trials().size()), "trial")
            << "\n";
  return ConductSweep(surroundings, *experiment, *recovered->controller, recovered->last_step,
                      *first_events, **store, clock);
}

}  // namespace

int ResumeCommand(const ResumeOptions& options) {
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
