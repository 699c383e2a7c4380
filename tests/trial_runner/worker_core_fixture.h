// A worker's decisions (worker_core.h) in a test's hands: what it is told, and its effects as texts
// to compare.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/trial_runner/message_samples.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {

inline constexpr char kReport[] = R"({"report":{"iteration":1,"metrics":{"loss":0.5}}})";
inline constexpr char kFinal[] =
    R"({"report":{"iteration":1,"metrics":{"loss":0.5},"final":true}})";
inline constexpr char kCompleted[] = R"({"end":{"outcome":"completed"}})";
inline constexpr char kStopped[] = R"({"end":{"outcome":"stopped"}})";

class WorkerCoreTest : public testing::Test {
 protected:
  // A worker that has been welcomed, its effects so far dropped. One process waits.
  void Join(bool is_local = true) {
    core_.emplace(WorkerCore::Options{Greeting(), is_local, "tune_trial"});
    core_->Begin();
    Tell(SampleWelcome());
    core_->TakeEffects();
  }

  static SweepInfo SweepOf(const std::string& trainable) {
    SweepInfo sweep;
    sweep.experiment = "sweep";
    sweep.metric = "loss";
    sweep.trainable = trainable;
    return sweep;
  }
  static Welcome WelcomeTo(std::vector<SweepInfo> sweeps) {
    return {WorkerId{1}, 1000, 60'000, std::move(sweeps), /*is_head=*/false};
  }
  static Welcome SampleWelcome() { return WelcomeTo({SweepOf(R"({"curve":{"value":"x"}})")}); }

  // The line about it is dropped.
  void LoseTuner() {
    core_->OnTunerGone(Unavailable("the connection to the tuner broke"), now_);
    Effects();
  }

  void Tell(const ToWorker& message) { core_->OnMessage(message, now_); }
  void Line(int64_t process, std::string_view line) {
    core_->OnProcessLine(ProcessId{process}, line, now_);
  }
  void Ended(int64_t process, const ProcessEnd& end) {
    core_->OnProcessEnded(ProcessId{process}, end, now_);
  }
  void Answer(const AttemptRef& ref, int64_t sequence, ReportAnswer answer) {
    Tell(AnswerReport{ref, sequence, answer});
  }
  void Pass(Duration time) {
    now_ = now_ + time;
    core_->OnTime(now_);
  }

  static StartAttempt Start(const AttemptRef& ref, bool ahead = false, int64_t ends_seen = 0) {
    StartAttempt start;
    start.ref = ref;
    start.ahead = ahead;
    start.ends_seen = ends_seen;
    start.cpu_milli = ahead ? 0 : 1000;
    start.config = R"({"x":1})";
    start.artifact_dir = "/a/" + std::to_string(ref.trial.value);
    return start;
  }

  // The effects since the last call, one text each: what tests compare. Where a sweep without a
  // package runs is found at once: here as there; and what is printed is sent at once.
  std::vector<std::string> Effects() {
    std::vector<std::string> texts;
    for (auto effects = core_->TakeEffects(); !effects.empty(); effects = core_->TakeEffects()) {
      for (const Effect& effect : effects) {
        const auto* const find = std::get_if<FindPlace>(&effect);
        if (const auto* const note = std::get_if<PrintNote>(&effect)) {
          notes_.push_back(note->text);
        } else if (find != nullptr && find->wanted.package.sha256.empty() && finds_places_) {
          core_->OnPlace(find->sweep, find->wanted, FoundPlace{{}, find->wanted.artifacts}, now_);
        } else if (const auto* const log = std::get_if<SendLog>(&effect); log && sends_logs_) {
          if (log->is_last) core_->OnLogSent(log->ref, OkStatus());
        } else {
          texts.push_back(Text(effect));
        }
      }
    }
    return texts;
  }
  // What it told of itself, in the effects that were taken since the last call.
  std::vector<std::string> Notes() {
    Effects();
    return std::exchange(notes_, {});
  }

  static std::string Text(const Effect& effect) {
    const auto process = [](ProcessId id) { return " " + std::to_string(id.value); };
    if (const auto* const e = std::get_if<SendToTuner>(&effect)) return Text(e->message);
    if (const auto* const e = std::get_if<SpawnProcess>(&effect)) {
      return "spawn" + process(e->process) + " " + e->program;
    }
    if (const auto* const e = std::get_if<WriteToProcess>(&effect)) {
      const auto read = ParseToLane(e->line.substr(0, e->line.size() - 1));
      if (!read.ok()) return "bad line: " + read.status().message();
      const std::string to =
          process(e->process) + (read->lane == 0 ? "" : " lane " + std::to_string(read->lane));
      if (const auto* const start = std::get_if<TrialStart>(&read->message)) {
        return "start" + to + " trial " + std::to_string(start->trial.value);
      }
      if (const auto* const leave = std::get_if<LeaveLane>(&read->message)) {
        return "leave" + to + (leave->at_once ? " now" : " soon");
      }
      if (const auto* const leave = std::get_if<LeaveWithin>(&read->message)) {
        return "leave" + to + " within " + std::to_string(leave->ms);
      }
      const ReportAnswer answer = std::get<ReportAnswer>(read->message);
      return "answer" + to + (answer == ReportAnswer::kContinue ? " continue" : " stop");
    }
    if (const auto* const e = std::get_if<KeepOutput>(&effect)) {
      std::string text = "log" + process(e->process);
      for (const std::string& path : e->paths) text += " " + path;
      return text;
    }
    if (const auto* const e = std::get_if<SignalProcess>(&effect)) {
      return (e->kill ? "kill" : "term") + process(e->process);
    }
    if (const auto* const e = std::get_if<PrintLine>(&effect)) return "print " + e->text;
    if (const auto* const e = std::get_if<FindPlace>(&effect)) {
      return "find " + e->wanted.package.sha256 + " for " + e->wanted.folder + " and " +
             e->wanted.artifacts;
    }
    if (const auto* const e = std::get_if<KeepCheckpoint>(&effect)) return "keep " + e->folder;
    if (const auto* const e = std::get_if<ObtainCheckpoint>(&effect)) {
      return "obtain " + e->path + (e->copy.folder.empty() ? "" : ", here " + e->copy.folder) +
             (e->files_path.empty() ? "" : ", files " + e->files_path + " to " + e->files_folder);
    }
    if (const auto* const e = std::get_if<SendLog>(&effect)) {
      return (e->is_last ? "send all of " : "send ") + e->path +
             (e->folder.empty() ? "" : " and " + e->folder);
    }
    if (const auto* const e = std::get_if<SettleSweep>(&effect)) {
      return "settle " + e->found.artifacts + " and " + e->found.bucket;
    }
    if (const auto* const e = std::get_if<LeaveSweep>(&effect)) {
      return "leave " + std::to_string(e->sweep.value);
    }
    if (const auto* const e = std::get_if<GiveUpCheckpoints>(&effect)) {
      return "give up " + std::to_string(e->ref.trial.value);
    }
    if (const auto* const e = std::get_if<DropCheckpoint>(&effect)) return "drop " + e->folder;
    if (const auto* const e = std::get_if<ClearTrialFolder>(&effect)) return "clear " + e->folder;
    if (std::holds_alternative<ConnectToTuner>(effect)) return "connect";
    return "exit " + std::to_string(std::get<ExitWorker>(effect).status);
  }

  static std::string Text(const FromWorker& message) {
    if (const auto* const m = std::get_if<AttemptEnded>(&message)) {
      return "ended " + std::to_string(m->ref.trial.value) + " " + OutcomeName(m->outcome) +
             (m->error.empty() ? "" : ": " + m->error);
    }
    if (const auto* const m = std::get_if<AttemptReport>(&message)) {
      return "report " + std::to_string(m->ref.trial.value) + " sequence " +
             std::to_string(m->sequence) +
             (m->report.checkpoint_follows ? ", a checkpoint follows" : "");
    }
    if (const auto* const m = std::get_if<CheckpointDurable>(&message)) {
      return "durable " + std::to_string(m->ref.trial.value) + " iteration " +
             std::to_string(m->iteration) + " at " + m->checkpoint.path;
    }
    if (const auto* const m = std::get_if<Hello>(&message)) {
      std::string text = "hello";
      for (const HeldAttempt& held : m->held) {
        text += " holding " + std::to_string(held.ref.trial.value) + " on " +
                std::to_string(held.cpu_milli);
      }
      return text;
    }
    if (std::holds_alternative<Heartbeat>(message)) return "heartbeat";
    if (const auto* const m = std::get_if<SweepUnfit>(&message)) {
      return (m->why.empty() ? "fit for " : "unfit for ") + std::to_string(m->sweep.value);
    }
    return "goodbye";
  }

  bool finds_places_ = true;
  bool sends_logs_ = true;
  Instant now_{1'000'000};
  std::optional<WorkerCore> core_;
  std::vector<std::string> notes_;  // That Effects() left out.
};

}  // namespace tune
