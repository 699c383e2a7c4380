#include "tuner/cli/sweep_start.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/posix/real_clock.h"
#include "trial_runner/fusion.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/background.h"
#include "tuner/cli/lane_speeds.h"
#include "tuner/cli/live_view.h"
#include "tuner/cli/secret_environment.h"
#include "tuner/cli/sweep.h"

namespace tune {

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

}  // namespace tune
