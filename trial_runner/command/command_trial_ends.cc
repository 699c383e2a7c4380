// How an attempt of a user's program ends, and what is said of it.
#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/expression.h"
#include "core/limits.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "trial_runner/command/command_trial.h"
#include "trial_runner/end_notes.h"

namespace tune {
namespace {

// One that was told to stop ends by itself within this time, or gets SIGTERM; the worker is more
// patient than that (limits::kStopGraceMs).
constexpr Duration kStopPatience = Milliseconds(limits::kStopGraceMs - 2 * limits::kKillGraceMs);
constexpr Duration kKillGrace = Milliseconds(limits::kKillGraceMs);
// What the worker gives a trial that it ends, but for a head start: what has left the group would
// outlive the worker's SIGKILL.
constexpr Duration kHeadStart = Milliseconds(500);
constexpr Duration kEndGrace{kKillGrace.us - kHeadStart.us};

std::string WithTail(std::string text, const OutputTail& tail) {
  const std::string cause = tail.Cause();
  return cause.empty() ? text : text + ": " + cause;
}

bool IsBlankText(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

std::string LeftRunning(const ProgramEnd& end) {
  return "left running: the program ended with status 0 while '" + ShownLine(end.left_running) +
         "', which it had started, ran on; that was ended, and what it would have printed is "
         "missing: let the program wait for it (in a shell: wait)";
}

}  // namespace

// One that asked hears of it and ends by itself; one whose output is read does not. One that the
// worker ends has no more time than it had.
void CommandTrial::Stop(Instant now, bool listens) {
  is_told_to_stop_ = true;
  if (program_end_ || is_told_to_end_) return;
  if (listens) {
    terminate_at_ = now + kStopPatience;
    return;
  }
  effects_.push_back(SignalProgram{false});
  kill_at_ = now + kKillGrace;
}

void CommandTrial::OnTerminate(Instant now) {
  is_told_to_end_ = true;
  terminate_at_.reset();
  kill_at_ = std::min(kill_at_.value_or(now + kEndGrace), now + kEndGrace);
}

void CommandTrial::OnLeave(Duration within, Instant now) {
  if (is_told_to_end_ || program_end_) return;
  is_told_to_end_ = true;
  terminate_at_.reset();
  const Instant kill_at = now + std::max(kEndGrace, Duration{within.us - kHeadStart.us});
  // Of several ranks the others would go on without the one that saves.
  leaves_once_saved_ = has_checkpoints_ && world_size_ == 1 && !is_told_to_stop_ && !kill_at_ &&
                       within > kKillGrace + kEndGrace;
  if (leaves_once_saved_) {
    terminate_at_ = kill_at + Duration{-kEndGrace.us};
    return;
  }
  effects_.push_back(SignalProgram{false});
  kill_at_ = std::min(kill_at_.value_or(kill_at), kill_at);
}

void CommandTrial::OnTime(Instant now) {
  if (program_end_) return;
  if (terminate_at_ && now >= *terminate_at_) {
    terminate_at_.reset();
    effects_.push_back(SignalProgram{false});
    kill_at_ = now + (is_told_to_end_ ? kEndGrace : kKillGrace);
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    effects_.push_back(SignalProgram{true});
  }
}

std::optional<Instant> CommandTrial::NextDeadline() const {
  if (program_end_) return std::nullopt;
  TUNE_CHECK(!terminate_at_ || !kill_at_);
  return terminate_at_ ? terminate_at_ : kill_at_;
}

// A line without its end, and a bar that may have been drawn again, are whole where the program
// ended well; else its death may have cut them.
void CommandTrial::OnProgramEnded(ProgramEnd end) {
  program_end_ = std::move(end);
  const bool is_well = program_end_->exit_status == 0 && program_end_->signal.empty() &&
                       program_end_->memory_limit_bytes == 0 && !is_told_to_end_;
  if (is_well && rank_ == 0) {
    Take(output_.Finish());
    TakeLast();
  }
  Advance();
}

// The last report of a program that ended well: the metrics of files, and those that were printed
// and in no report. Where a file has a part of the sweep's metric, the printed part goes with it.
void CommandTrial::TakeLast() {
  const ProgramEnd& end = *program_end_;
  if (!end.file_metrics.ok()) return;
  const bool has_part = std::any_of(wanted_.begin(), wanted_.end(), [&](const std::string& name) {
    return FindVariable(*end.file_metrics, name).has_value();
  });
  Metrics last = output_.Unreported(has_part ? wanted_ : std::vector<std::string>());
  last.insert(last.end(), end.file_metrics->begin(), end.file_metrics->end());
  const bool is_asked =
      std::find(wanted_.begin(), wanted_.end(), kExitStatusMetric) != wanted_.end();
  if (is_asked) last.emplace_back(kExitStatusMetric, end.exit_status);
  // A final report completes a trial: one without the metric is told as no_metric instead.
  const bool has_metric = missing_names_.empty() || MissingIn(last).empty() ||
                          std::any_of(pending_.begin(), pending_.end(), [&](const Pending& next) {
                            return MissingIn(next.report.metrics).empty();
                          });
  if (last.empty() || !has_metric) return;
  // Of a job of several ranks it is not yet known whether each of them ends well.
  const bool is_final = !is_asked || world_size_ == 1;
  pending_.push_back({ClientId{}, {std::move(last), std::nullopt, ""}, is_final});
}

TrialEnd CommandTrial::EndOfProgram() const {
  const ProgramEnd& end = *program_end_;
  if (is_told_to_stop_) {
    const std::string note = unsent_note_.empty() ? output_.NoteAtEnd() : unsent_note_;
    return {Outcome::kStopped, WithEndNote(Outcome::kStopped, "", note)};
  }
  if (end.memory_limit_bytes != 0) {
    return {Outcome::kOutOfMemory, "the program was ended: it had more than the " +
                                       std::to_string(end.memory_limit_bytes) +
                                       " bytes that a trial may have (resources.memory)"};
  }
  if (!end.signal.empty() || end.exit_status != 0) {
    const std::string how = end.signal.empty()
                                ? "exited with status " + std::to_string(end.exit_status)
                                : "died of " + end.signal;
    // A full disk that the program did not speak of is not why it ended; one that it spoke of and
    // that has room is a limit of the program's own.
    EndDetail disk = tail_.SpeaksOfFullDisk() ? end.full_disk : EndDetail::kNone;
    if (disk == EndDetail::kNone && tail_.SpeaksOfReadOnlyDisk()) disk = end.read_only_disk;
    if (disk != EndDetail::kNone) {
      return {Outcome::kCrashed, WithTail("the disk takes no writes: the program " + how, tail_),
              disk};
    }
    if (end.by_oom_killer) {
      return {Outcome::kOutOfMemory,
              WithTail("the system killed the program: memory is short", tail_)};
    }
    const Outcome outcome = end.signal == "SIGKILL"        ? Outcome::kKilled
                            : tail_.SpeaksOfDeviceMemory() ? Outcome::kDeviceOutOfMemory
                            : tail_.SpeaksOfMemory()       ? Outcome::kOutOfMemory
                                                           : Outcome::kCrashed;
    const bool misses_rank =
        world_size_ > 1 && outcome == Outcome::kCrashed && tail_.SpeaksOfLostRank();
    return {outcome, WithRanks(WithTail("the program " + how, tail_)),
            misses_rank ? EndDetail::kRankLost : EndDetail::kNone};
  }
  if (rank_ > 0) {
    std::string left = end.left_running.empty() ? "" : LeftRunning(end);
    return {Outcome::kCompleted, WithEndNote(Outcome::kCompleted, left, rank_note_)};
  }
  if (!end.file_metrics.ok()) {
    return {Outcome::kBadConfig, "metrics: " + end.file_metrics.status().message()};
  }
  // One that goes on from a checkpoint may have nothing left to do, but not reports that are
  // refused.
  const bool has_all = missing_names_.empty() || from_iteration_ != 0;
  if (!has_all || (refused_count_ > 0 && !has_taken_metric_)) {
    return {Outcome::kBadConfig, NoMetric()};
  }
  if (!end.left_running.empty()) return {Outcome::kCompleted, LeftRunning(end)};
  const OutputTail::Complaint error = tail_.LastComplaint();
  if (!error.line.empty() && !output_.HasValueIn(error.behind)) {
    return {Outcome::kCompleted,
            "an error that its status hides: the program ended with status 0, and " +
                std::string(IsBlankText(error.behind) ? "the last that it printed is '"
                                                      : "among the last that it printed is '") +
                error.line +
                "'; let the script end with the status of what it runs (in a "
                "shell: set -e -o pipefail)"};
  }
  if (refused_count_ > 0) {
    return {Outcome::kCompleted,
            Refused() +
                "; the trial's values lack what it said, and its program went on: let it "
                "end where a report is not taken (in a shell: set -e)"};
  }
  return {Outcome::kCompleted, output_.NoteAtEnd()};
}

// What a person may do about ranks that did not meet.
std::string CommandTrial::WithRanks(std::string text) const {
  if (world_size_ == 1) return text;
  const std::string port = std::to_string(master_port_);
  if (rank_ == 0 && tail_.SpeaksOfPort(master_port_)) {
    return text + "; another program of this machine took port " + port +
           " (MASTER_PORT) meanwhile; the next attempt gets another port";
  }
  if (tail_.SpeaksOfVainWait()) {
    return text + "; a rank waited in vain for another one: each of the " +
           std::to_string(world_size_) +
           " programs has to join the group (in PyTorch init_process_group), and the machines must "
           "reach each other, at MASTER_ADDR port " +
           port + " and others; tune logs TRIAL --rank R shows how far each of them came";
  }
  return text;
}

std::string CommandTrial::NoMetric() const {
  if (!program_end_->left_running.empty()) return "no_metric: " + LeftRunning(*program_end_);
  const std::string text = "no_metric: the program ended with status 0 and ";
  const std::string& missing = missing_names_.empty() ? metric_ : missing_names_.front();
  if (refused_count_ > 0) return text + Refused();
  if (const std::optional<std::string> why = output_.WhyMissing(missing)) {
    return text + *why + Again();
  }
  const std::string line = tail_.LastLine();
  const std::string what = missing == metric_
                               ? "never reported '" + metric_ + "'"
                               : "no report had everything that the metric '" + metric_ +
                                     "' is made of: it lacked '" + missing + "'";
  return text + what + Reported(missing) + Again() +
         (line.empty() ? "" : std::string(kLastPrinted) + line);
}

// A program that found its work done is no trial that failed, and cannot be told from one.
std::string CommandTrial::Again() const {
  return is_first_attempt_ ? ""
                           : "; an earlier attempt may have left files from which it had nothing "
                             "more to do: a checkpoint that is reported (tune report --checkpoint) "
                             "lets an attempt go on where the values before it count";
}

// What it did report, and which of that may be meant.
std::string CommandTrial::Reported(const std::string& missing) const {
  if (reported_names_.empty()) return "";
  const std::vector<std::string_view> names(reported_names_.begin(), reported_names_.end());
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  const auto nearest = NearestName(missing, names);
  return (missing == metric_ ? ", but " : ", but had ") + list +
         (nearest ? "; did you mean '" + std::string(*nearest) + "'?" : "");
}

}  // namespace tune
