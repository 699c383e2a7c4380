#include "tuner/cli/run/run_command.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "search/auto_choice.h"
#include "search/searcher.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/deleted_folders.h"
#include "tuner/cli/keep/stored_ask_tell.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/background.h"
#include "tuner/cli/run/configuration_check.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/run/input_check.h"
#include "tuner/cli/run/listening.h"
#include "tuner/cli/run/plan_command.h"
#include "tuner/cli/run/secret_environment.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/cli/steer/note_command.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/earlier_sweep.h"
#include "tuner/export/optuna_study.h"
#include "tuner/provenance.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {
namespace {

constexpr int kExitUsage = 2;

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

void SayWhatAutoChose(const ExperimentController& controller, uint64_t seed) {
  const ExperimentSpec& spec = controller.options().spec;
  const Value* const algorithm = spec.search.is_map() ? spec.search.Find("algorithm") : nullptr;
  if (algorithm == nullptr || *algorithm != Value("auto")) return;
  const AutoChoice choice =
      ChooseAlgorithm(ProblemOf(spec, controller.options().space, spec.samples, seed));
  std::cerr << "search: auto takes " << choice.why << "\n";
}

// The sweep that `from` names is there and fits. For a dry run, which writes nothing, also where a
// tuner lives or the database has an older schema: it reads a copy.
Status CheckFrom(const ExperimentSpec& spec, const SearchSpace& space, const std::string& db_path) {
  if (spec.from.empty() || StudyOf(spec) != nullptr) return OkStatus();
  const Instant now = RealClock().Now();
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  const ScratchFolder folder("tune-dry-run-");
  const std::string copy = folder.path() + "/copy.db";
  if (Status copied = folder.path().empty() ? Unavailable("no folder can be made for a copy")
                                            : database->CopyTo(copy);
      !copied.ok()) {
    Tell("warning: from: was not checked: " + copied.message());
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store,
                        SqliteStore::Open(copy, Access::kWrite, now));
  return ReadEarlierAtStart(spec, space, now, *store).status();
}

// For a dry run: what the run would find there. The store may be one that only another machine can
// reach.
Status LookAround(const ExperimentSpec& spec, const SearchSpace& space,
                  const std::string& db_path) {
  TUNE_RETURN_IF_ERROR(CheckFrom(spec, space, db_path));
  TUNE_RETURN_IF_ERROR(CheckBucketInputs(spec));
  if (spec.checkpoint.storage.empty()) return OkStatus();
  const Result<std::string> seen = LookAtStorage(spec.checkpoint.storage, spec.name);
  if (seen.status().code() == StatusCode::kUnavailable) {
    Tell("warning: " + seen.status().message() + "; nothing of it was checked");
    return OkStatus();
  }
  if (seen.ok()) Tell("checkpoint.storage: " + *seen);
  return seen.status();
}

// What another sweep of that name has left is nothing of the new one's.
Status MakeWayFor(const StoredExperiment& experiment, const std::string& db_path,
                  SqliteStore& store) {
  if (!CheckArtifactsAreOwn(db_path).ok()) return OkStatus();
  const Result<std::string> aside = SetLeftAside(ArtifactsDirOf(db_path), experiment.name);
  if (aside.ok()) {
    if (!aside->empty()) Tell(DescribeLeft(experiment.name, *aside));
    return OkStatus();
  }
  TUNE_RETURN_IF_ERROR(store.DeleteExperiment(experiment));
  return FailedPrecondition("a deleted sweep has left its folder: " + aside.status().message());
}

// All has been checked: the sweep is stored and conducted.
int StoreAndConduct(const RunOptions& options, const ExperimentSpec& spec,
                    const SweepLabels& labels, uint64_t seed, bool seed_is_drawn,
                    SweepSurroundings& surroundings, Background* background) {
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
  wanted.base_dir = spec.base_dir;
  wanted.provenance = EncodeProvenance(ProvenanceOf(spec, options));
  wanted.created_at = clock.Now();
  wanted.labels = labels;
  // Before the sweep is made: what it wants to learn from must be there.
  const Result<SearchSpace> space = SpaceOf(spec);
  if (!space.ok()) return Complain(space.status());
  Result<EarlierSweep> earlier = ReadEarlierAtStart(spec, *space, wanted.created_at, **store);
  if (!earlier.ok()) return Complain(earlier.status());
  wanted.spec = ToJson(WithEarlier(spec.document, *earlier));
  const Result<StoredExperiment> experiment = (*store)->CreateExperiment(wanted);
  if (!experiment.ok()) return Complain(experiment.status());
  if (const Status s = MakeWayFor(*experiment, options.db_path, **store); !s.ok()) {
    return Complain(s);
  }
  if (const Status s = ClaimNew(*experiment, spec.checkpoint.storage, options.db_path, **store,
                                /*empties=*/true);
      !s.ok()) {
    return Complain(s);
  }
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
  if (!earlier->note.empty()) Tell(earlier->note);
  return ConductSweep(surroundings, *experiment, **controller, 0, *first_events, **store, clock);
}

}  // namespace

void PrintPlan(const ExperimentSpec& spec, const SearchSpace& space, uint64_t seed,
               const std::string& where, std::ostream& out) {
  out << "dry run: " << spec.name << " would start with seed " << seed << "\n"
      << "  trials     " << TrialsText(TrialCountOf(spec, space, spec.samples), spec.samples)
      << "\n  metric     " << DescribeObjectives(spec.objectives()) << "\n  scheduler  "
      << SchedulerText(spec) << "\n  each needs " << DescribeRequest(spec.resources) << "\n"
      << where << "\nnothing was started or written\n";
}

std::vector<std::string> WithShortcuts(const RunOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.samples) overrides.push_back("samples=" + std::to_string(*options.samples));
  if (options.max_concurrent) {
    overrides.push_back("limits.max_concurrent=" + std::to_string(*options.max_concurrent));
  }
  if (options.priority) overrides.push_back("priority=" + std::to_string(*options.priority));
  return overrides;
}

int RunCommand(const RunOptions& options) {
  Result<ExperimentSpec> spec = ReadSpecFile(options.space_path, WithShortcuts(options));
  if (!spec.ok()) return Complain(spec.status());
  return RunSpec(*std::move(spec), options);
}

namespace {

Result<SweepSurroundings> SurroundingsOf(const RunOptions& options, const ExperimentSpec& spec) {
  SweepSurroundings surroundings;
  surroundings.db_path = options.db_path;
  surroundings.program_dir = options.program_dir;
  TUNE_ASSIGN_OR_RETURN(surroundings.local,
                        FindLocalCapacity(spec.resources, options.cpus, options.gpus));
  surroundings.listen = options.listen;
  surroundings.token_validity = options.token_validity;
  surroundings.checkpoint_bytes_max = options.checkpoint_bytes_max;
  surroundings.log = options.log;
  if (options.ui) surroundings.page = options.page;
  TUNE_RETURN_IF_ERROR(CheckListen(options.listen));
  TUNE_RETURN_IF_ERROR(CheckLog(options.log));
  TUNE_RETURN_IF_ERROR(CheckPage(options.ui, options.page));
  TUNE_RETURN_IF_ERROR(CheckFeasible(spec.resources, surroundings));
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (kind.ok()) surroundings.trainable_kind = *kind;
  return surroundings;
}

std::string WhereItRuns(const SweepSurroundings& surroundings) {
  return "  worker     " + DescribeCapacity(surroundings.local) + "\n  database   " +
         surroundings.db_path;
}

// Where its data are, and where its checkpoints go.
Status CheckStores(const ExperimentSpec& spec) {
  TUNE_RETURN_IF_ERROR(CheckBucketInputs(spec));
  return CheckStorage(spec.checkpoint.storage, spec.name);
}

}  // namespace

int RunSpec(ExperimentSpec spec, const RunOptions& options) {
  if (!spec.after.empty()) {
    return Complain(
        InvalidArgument("after: is for a head, which holds what it is to follow (tune submit); "
                        "tune run begins now"));
  }
  if (options.name) spec.name = *options.name;
  const char* const place = options.name ? "--name" : "name";
  if (const Status s = CheckNewSweepName(spec.name).At(place); !s.ok()) return Complain(s);
  const bool seed_is_drawn = !options.seed && !spec.seed;
  const uint64_t seed = options.seed ? *options.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;

  const Result<SweepLabels> labels = FirstLabels(options.note, options.tags);
  if (!labels.ok()) return Complain(labels.status());
  Result<SweepSurroundings> around = SurroundingsOf(options, spec);
  if (!around.ok()) return Complain(around.status());
  SweepSurroundings& surroundings = *around;
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
    Tell("warning: " + warning);
  }
  if (options.dry_run) {
    if (!surroundings.listen.empty()) {  // What may not leave this machine is refused.
      const auto packed = PackWorkingFolder(spec, options.db_path, true);
      if (!packed.ok()) return Complain(packed.status());
      for (const std::string& warning : packed->warnings) Tell("warning: " + warning);
    }
    if (const Status s = LookAround(spec, *space, options.db_path); !s.ok()) return Complain(s);
    PrintPlan(spec, *space, seed, WhereItRuns(surroundings), std::cout);
    return 0;
  }
  if (surroundings.trainable_kind == "food11" &&
      !PrepareData(*first, spec.base_dir, options.data_dir, options.program_dir)) {
    return kExitUsage;
  }
  if (const Status s = CheckStores(spec); !s.ok()) return Complain(s);
  Result<WorkingPackage> package =
      PackWorkingFolder(spec, options.db_path, !surroundings.listen.empty());
  if (!package.ok()) return Complain(package.status());
  for (const std::string& warning : package->warnings) Tell("warning: " + warning);
  surroundings.package = *std::move(package);

  const auto conduct = [&](Background* background) {
    return StoreAndConduct(options, spec, *labels, seed, seed_is_drawn, surroundings, background);
  };
  if (!options.detach) return conduct(nullptr);
  return RunInBackground([&](Background& background) { return conduct(&background); }, std::cout,
                         std::cerr);
}

}  // namespace tune
