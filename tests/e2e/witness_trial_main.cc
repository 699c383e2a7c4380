// Stands in place of tune_trial in the kill tests: the same curve, and a witness. Each answer that
// it gets is written at once to the file that TUNE_WITNESS names, one line "trial attempt iteration
// answer": what was acknowledged, told by the one that was told.
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "core/check.h"
#include "trial_runner/curve.h"
#include "trial_runner/worker/trial_session.h"

namespace tune {
namespace {

// What the curve's iteration takes.
void Wait(double seconds) {
  const double whole = std::floor(seconds);
  const timespec left = {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  ppoll(nullptr, 0, &left, nullptr);
}

const char* NameOf(ReportAnswer answer) {
  switch (answer) {
    case ReportAnswer::kContinue:
      return "continue";
    case ReportAnswer::kSave:
      return "save";
    case ReportAnswer::kStop:
      return "stop";
    case ReportAnswer::kRefused:
      return "refused";
  }
  return "";
}

TrialEnd Run(const TrialStart& start, TrialSession& session, int witness) {
  const Result<Curve> curve = Curve::Parse(*start.trainable.Find("curve"));
  TUNE_CHECK(curve.ok());
  const Result<BoundCurve> bound = curve->Bind(start.config);
  TUNE_CHECK(bound.ok());
  for (int64_t t = start.from_iteration + 1; t <= bound->iterations(); ++t) {
    const CurveStep step = bound->Step(start.seed, start.trial.value, start.attempt.value, t);
    Wait(step.seconds);
    Report report;
    report.iteration = t;
    report.metrics = bound->MetricsOf(step, start.metric);
    report.final = t == bound->iterations();
    report.has_checkpoint = t % start.checkpoint_every == 0 || report.final || session.ShallSave();
    const ReportAnswer answer = session.Report(report);
    if (report.final) break;  // Gets no answer.
    const std::string line = std::to_string(start.trial.value) + " " +
                             std::to_string(start.attempt.value) + " " + std::to_string(t) + " " +
                             NameOf(answer) + "\n";
    TUNE_CHECK(write(witness, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    if (!GoesOn(answer)) return {Outcome::kStopped, ""};
  }
  return {Outcome::kCompleted, ""};
}

int Main() {
  const char* const path = std::getenv("TUNE_WITNESS");
  TUNE_CHECK(path != nullptr);
  const int witness = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  TUNE_CHECK(witness >= 0);
  TrialSession session;
  while (const auto start = session.Next()) session.End(Run(*start, session, witness));
  return 0;
}

}  // namespace
}  // namespace tune

int main() { return tune::Main(); }
