#include "tuner/cli/run/sweep_start.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <variant>

#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "search/searcher.h"
#include "trial_runner/fusion.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/look/lane_speeds.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/run/background.h"
#include "tuner/cli/run/configuration_check.h"
#include "tuner/cli/run/gather_provenance.h"
#include "tuner/cli/run/secret_environment.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/words/complain.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {

namespace {

// A typing mistake in one of several would come to light with the first trial that draws it.
Status CheckListedInputs(const ExperimentSpec& spec, const InputPlaces& places) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  for (const SpaceParameter& parameter : space.parameters()) {
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (domain == nullptr || !domain->is_list()) continue;
    for (uint64_t i = 0; i < domain->Count().value_or(0); ++i) {
      TUNE_RETURN_IF_ERROR(CheckListedInput(spec.trainable, parameter.name, domain->At(i), places));
    }
  }
  return OkStatus();
}

}  // namespace

Result<Configuration> CheckTrials(const ExperimentSpec& spec, uint64_t seed,
                                  const std::string& data_dir) {
  // What each worker fetches has to be said in the sweep.
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (kind.ok() && *kind == "food11" && IsS3Url(data_dir) && !spec.space.Find("data")) {
    return InvalidArgument("FOOD11_DATA_DIR: read '" + Printable(data_dir) +
                           "', expected a folder; of an object store write space: {data: \"" +
                           Printable(data_dir) + "\"}");
  }
  TUNE_ASSIGN_OR_RETURN(CheckedConfigurations checked, CheckConfigurations(spec, seed));
  const InputPlaces places{spec.base_dir, data_dir, EnvironmentText("PATH")};
  TUNE_RETURN_IF_ERROR(CheckInputs(spec.trainable, checked.first, places));
  TUNE_RETURN_IF_ERROR(CheckListedInputs(spec, places));
  if (!checked.advice.empty()) Tell("warning: " + checked.advice);
  return std::move(checked.first);
}

bool PrepareData(const Configuration& configuration, const std::string& base_dir,
                 const std::string& data_dir, const std::string& program_dir) {
  const Value* const named = configuration.Find("data");
  const std::string data = named != nullptr && named->is_string() ? named->AsString() : data_dir;
  if (data.empty() || data == "synthetic" || IsS3Url(data)) return true;
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

Provenance ProvenanceOf(const ExperimentSpec& spec, const RunOptions& options) {
  const std::string command_line = WithoutSecrets(
      WithoutSecrets(options.command_line, spec.secrets), SecretsOfOverrides(options.overrides));
  return GatherProvenance(
      spec, {TUNE_VERSION, command_line, options.data_dir, options.cpus, options.gpus});
}

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

Result<std::vector<Event>> KnownAtStart(const ExperimentSpec& spec, int64_t last_step,
                                        const std::string& db_path) {
  std::vector<Event> events;
  if (last_step > 0 || !MayFuse(spec.trainable)) return events;
  TUNE_ASSIGN_OR_RETURN(std::vector<LaneSpeedRow> speeds, ReadLaneSpeeds(db_path));
  if (!speeds.empty()) events.push_back(LaneSpeedsKnown{std::move(speeds)});
  return events;
}

bool IsMore(int64_t samples, int64_t others) {
  return samples != others && (samples < 0 || (others >= 0 && samples > others));
}

bool Extends(std::optional<int64_t> samples, int64_t present) {
  return samples && (IsMore(*samples, present) || (*samples < 0 && present < 0));
}

Status CheckNewTotal(int64_t samples, const StoredExperiment& experiment,
                     const ControllerOptions& sweep) {
  const std::string read = "--samples: read " + std::to_string(samples);
  if (samples == 0 || samples < -1 || samples > limits::kSamplesMax) {
    return InvalidArgument(read + ", expected an integer from 1 to " +
                           std::to_string(limits::kSamplesMax) + ", or -1 for no limit");
  }
  const ExperimentSpec& spec = sweep.spec;
  if (spec.metric == kExitStatusMetric && experiment.samples == 1 && samples != 1) {
    return InvalidArgument(read + ", but " + experiment.name +
                           " is a job, which runs once; tune submit --again " + experiment.name +
                           " runs it again as another one");
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

}  // namespace tune
