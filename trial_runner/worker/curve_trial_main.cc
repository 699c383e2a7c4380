// tune_trial: runs trials of the built-in trainable `curve`. It links little and starts in a
// millisecond: the system's own speed is measured with it.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <optional>

#include "core/posix/process_limits.h"
#include "trial_runner/curve.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "trial_runner/worker/curve_checkpoint.h"
#include "trial_runner/worker/trial_session.h"

namespace tune {
namespace {

void Wait(double seconds) {
  if (!(seconds > 0)) return;
  constexpr double kLongest = 1e9;
  const double whole = std::floor(std::min(seconds, kLongest));
  timespec left = {static_cast<time_t>(whole),
                   static_cast<long>((std::min(seconds, kLongest) - whole) * 1e9)};
  // A SIGTERM that was put off does not make the iteration shorter.
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
  }
}

[[noreturn]] void Crash() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::abort();
}

[[noreturn]] void Hang() {
  while (true) pause();
}

Result<BoundCurve> BindCurve(const TrialStart& start) {
  const Value* const options = start.trainable.is_map() ? start.trainable.Find("curve") : nullptr;
  if (options == nullptr) return InvalidArgument("this program runs the trainable curve alone");
  TUNE_ASSIGN_OR_RETURN(const Curve curve, Curve::Parse(*options));
  return curve.Bind(start.config);
}

// How an iteration ends the attempt, if it does. A crash and a hang do not come back.
std::optional<TrialEnd> GoWrong(const CurveStep& step) {
  if (step.crashes) Crash();
  if (step.hangs) Hang();
  if (step.is_out_of_memory) return TrialEnd{Outcome::kOutOfMemory, "the curve's out_of_memory"};
  if (step.is_out_of_device_memory) {
    return TrialEnd{Outcome::kDeviceOutOfMemory, "the curve's device_out_of_memory"};
  }
  if (step.is_bad_config) return TrialEnd{Outcome::kBadConfig, "the curve's bad_config"};
  return std::nullopt;
}

CurveState CurveStateOf(const TrialStart& start) {
  return {start.sweep_seed, start.trial.value, start.from_iteration};
}

TrialEnd RunCurve(const TrialStart& start, TrialSession& session) {
  const Result<BoundCurve> curve = BindCurve(start);
  if (!curve.ok()) return {Outcome::kBadConfig, curve.status().message()};
  // The first rank is all there is to a curve: the others hold their room until it has ended, and
  // then are killed. It does not wait for them: what it goes on from may be gone when they begin.
  if (start.rank > 0) Hang();
  if (!start.checkpoint_path.empty()) {
    const Status restored = VerifyCurveCheckpoint(start.checkpoint_path, CurveStateOf(start));
    if (!restored.ok()) return EndForUnrestored(restored);
  }
  CheckpointPlace place(start);
  for (int64_t t = start.from_iteration + 1; t <= curve->iterations(); ++t) {
    const CurveStep step = curve->Step(start.sweep_seed, start.trial.value, start.attempt.value, t);
    Wait(step.seconds);
    if (const std::optional<TrialEnd> end = GoWrong(step)) return *end;
    Report report;
    report.iteration = t;
    report.metrics = curve->MetricsOf(step, start.metric);
    report.final = t == curve->iterations();
    report.has_checkpoint = t % start.checkpoint_every == 0 || report.final || session.ShallSave();
    if (report.has_checkpoint && curve->checkpoint_bytes() > 0) {
      const Result<CheckpointRef> saved = SaveCurveCheckpoint(
          place, {start.sweep_seed, start.trial.value, t}, curve->checkpoint_bytes());
      if (!saved.ok()) return EndForUnsaved(place.folder(), saved.status());
      report.checkpoint = *saved;
    }
    if (!GoesOn(session.Report(report)) && !report.final) {
      return {Outcome::kStopped, ""};
    }
  }
  return {Outcome::kCompleted, ""};
}

int Main() {
  TrialSession session;
  session.EndWhenOutOfMemory("");
  while (const std::optional<TrialStart> start = session.Next()) {
    try {
      session.End(RunCurve(*start, session));
    } catch (const std::bad_alloc&) {
      session.End(session.OutOfMemory());
    }
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  tune::MeetLimits();
  return tune::AnswerVersion(argc, argv) ? 0 : tune::Main();
}
