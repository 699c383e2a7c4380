// A whole sweep at full speed: decided by the real controller, written by the real store, run by
// trials that answer at once. For tests and benchmarks of what comes after: recovery, queries,
// size.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "tuner/recovery.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune::testing {

struct InstantSweep {
  int64_t samples = 10;
  int64_t iterations = 10;
  std::string scheduler = "fifo";    // Of the space file.
  size_t events_per_step = 1;        // Reports that arrive together.
  bool has_checkpoints = false;      // Files: a path and a checksum with each report.
  std::optional<double> value = {};  // What every report says, in place of a curve.
  int64_t steps_max = INT64_MAX;     // Then the tuner is gone, whatever it was at.
  // Its journal has the events of sweep and cluster together, as before schema 9.
  bool is_of_older_build = false;
};

struct WrittenSweep {
  int64_t reports = 0;
  int64_t steps = 0;
  int64_t trials = 0;
};

inline constexpr int64_t kInstantConcurrent = 16;
inline constexpr Instant kInstantBegin{1'790'000'000'000'000};

// The other side of the controller: one worker whose trials report as soon as they are answered.
class InstantTrials {
 public:
  explicit InstantTrials(const InstantSweep& sweep) : sweep_(sweep) {}

  static Event Join() {
    WorkerJoined event;
    event.worker = WorkerId{1};
    event.name = "local";
    event.address = "127.0.0.1:40000";
    event.pid = 1;
    event.capacity.cpu_milli = kInstantConcurrent * kWholeMilli;
    return event;
  }

  void Take(const Transition& transition) {
    for (const Action& action : transition.actions) {
      const auto* const send = std::get_if<SendToWorker>(&action);
      if (send == nullptr) continue;
      if (const auto* const start = std::get_if<StartAttempt>(&send->message)) {
        TUNE_CHECK(!start->ahead);
        Report(start->ref, 1);
      } else if (const auto* const answer = std::get_if<AnswerReport>(&send->message)) {
        GoesOn(answer->answer) ? Report(answer->ref, answer->sequence + 1)
                               : End(answer->ref, answer->sequence);
      }
    }
  }

  // The next events, in order of arrival.
  std::vector<Event> Give(size_t count) {
    const auto end = waiting_.begin() + static_cast<int64_t>(std::min(count, waiting_.size()));
    std::vector<Event> events(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    return events;
  }

 private:
  void Report(const AttemptRef& ref, int64_t iteration) {
    ReportArrived event;
    event.worker = WorkerId{1};
    event.message.ref = ref;
    event.message.sequence = iteration;
    tune::Report& report = event.message.report;
    report.iteration = iteration;
    const double x = std::fmod(static_cast<double>(ref.trial.value) * 0.6180339887, 1.0);
    const double curve = x + std::exp(-0.05 * static_cast<double>(iteration));
    report.metrics = {{"loss", sweep_.value.value_or(curve)}};
    report.final = iteration == sweep_.iterations;
    report.has_checkpoint = true;
    if (sweep_.has_checkpoints) {
      report.checkpoint.path = "/home/someone/project/tune.artifacts/space/" +
                               std::to_string(ref.trial.value) + "/checkpoint_" +
                               std::to_string(iteration);
      report.checkpoint.bytes = 9'000'000;
      report.checkpoint.checksum = "0123456789abcdef";
    }
    waiting_.push_back(event);
  }

  void End(const AttemptRef& ref, int64_t sequence) {
    AttemptFinished event;
    event.worker = WorkerId{1};
    event.message.ref = ref;
    event.message.outcome = sequence == sweep_.iterations ? Outcome::kCompleted : Outcome::kStopped;
    waiting_.push_back(event);
  }

  InstantSweep sweep_;
  std::vector<Event> waiting_;
};

// Into `folder`/tune.db, with a space.yaml beside it.
inline WrittenSweep WriteInstantSweep(const InstantSweep& sweep, const std::string& folder) {
  const std::string space = folder + "/space.yaml";
  std::ofstream(space) << "trainable: {curve: {value: \"x\", iterations: " << sweep.iterations
                       << "}}\nmetric: loss\nmode: min\nseed: 7\nsamples: " << sweep.samples
                       << "\nspace: {x: {uniform: [0, 1]}, lr: {loguniform: [0.0001, 0.1]}}\n"
                          "scheduler: "
                       << sweep.scheduler << "\n";
  const Result<ExperimentSpec> spec = ReadSpecFile(space, {});
  TUNE_CHECK(spec.ok());
  auto store = SqliteStore::Open(folder + "/tune.db", Access::kCreate, kInstantBegin);
  TUNE_CHECK(store.ok());
  const auto experiment =
      (*store)->CreateExperiment({"space", "loss", "min", 7, sweep.samples, ToJson(spec->document),
                                  folder, "{}", kInstantBegin});
  TUNE_CHECK(experiment.ok());
  auto controller = MakeController(*spec, 7, "space", folder + "/tune.artifacts");
  TUNE_CHECK(controller.ok());

  WrittenSweep written;
  InstantTrials trials(sweep);
  std::vector<Event> events = {InstantTrials::Join()};
  Instant now = kInstantBegin;
  while (!events.empty() && written.steps < sweep.steps_max) {
    now = now + Milliseconds(10);  // Attempts are long enough that none is granted ahead.
    const Transition transition = (*controller)->Apply(events, now);
    const JournalStep step{
        ++written.steps, now,
        sweep.is_of_older_build ? EncodeEvents(events) : EncodeStream(transition.stream)};
    TUNE_CHECK((*store)->Commit(experiment->id, step, transition).ok());
    written.reports += static_cast<int64_t>(transition.reports.size());
    trials.Take(transition);
    events = trials.Give(sweep.events_per_step);
  }
  written.trials = static_cast<int64_t>((*controller)->trials().size());
  return written;
}

}  // namespace tune::testing
