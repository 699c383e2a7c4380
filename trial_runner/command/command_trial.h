// What the process that runs a user's program decides: which report goes to the tuner when, what
// the program is answered, when it is ended, and how the attempt ended. A pure state machine: what
// happens comes in with the time, what shall be done comes out as effects, performed in order by
// command_runner.
//
// One report is under way at a time; others wait in the order in which they came, those that the
// program made and those that were found in its output. A stop answers them all.
//
// An iteration is a report of the sweep's metric. What is reported without it belongs to the
// iteration that is under way: it is stored there and does not count. `step` names the iteration of
// any report. Where the metric alone comes with `step`, what came without one since the iteration
// before goes with it.
//
// Of several ranks the first one's reports, output and files make the trial's. What another one
// reports is answered and goes nowhere, and one note says so; its end counts.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/command/output_tail.h"
#include "trial_runner/command/program_messages.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

using ClientId = Id<struct ClientTag>;  // A connection of the program, from 1.

// What started the process at the other end of a connection, such as a shell that runs `tune
// report` again and again.
struct ProgramSource {
  int64_t id = 0;                    // 0: the program itself, or not known.
  std::vector<int64_t> living = {};  // Of those that have reported.
};

// ---- effects

struct SendReport {
  Report report;
};
struct ReplyToProgram {
  ClientId client;
  std::string line;
};
// Copies what lies at `path` into the attempt's checkpoint of this iteration; OnSaved follows.
struct SaveProgramCheckpoint {
  std::string path;
  int64_t iteration = 0;
};
// To the program and all that it started.
struct SignalProgram {
  bool kill = false;  // SIGKILL, else SIGTERM.
};
// A line of ours for a person who reads the attempt's log.
struct AddToLog {
  std::string line;
};
// The attempt is over; without an end the process leaves without a word, as it was told to.
struct FinishAttempt {
  std::optional<TrialEnd> end;
};
using CommandEffect = std::variant<SendReport, ReplyToProgram, SaveProgramCheckpoint, SignalProgram,
                                   AddToLog, FinishAttempt>;

// How the program ended.
struct ProgramEnd {
  int exit_status = 0;
  std::string signal;              // "SIGSEGV"; empty: it exited by itself.
  std::string left_running = {};   // What it started and did not wait for: a command line.
  int64_t memory_limit_bytes = 0;  // Not 0: it was ended for having more than this.
  bool by_oom_killer = false;      // The system killed it because memory was short.
  // Of the disk where it ran or where its files go: it is full, or has become read-only.
  EndDetail full_disk = EndDetail::kNone;
  EndDetail read_only_disk = EndDetail::kNone;
  Result<Metrics> file_metrics = Metrics{};  // Read from files after it ended; empty: none to read.
};

class CommandTrial {
 public:
  // `spec` must outlive it.
  CommandTrial(const TrialStart& start, const CommandSpec& spec);

  // Whether there is room for more lines and output: one that prints a report a microsecond waits
  // for the answers as any other does.
  bool HasRoom() const { return pending_.size() < kPendingMax; }

  // A line of a connection.
  void OnProgramLine(ClientId client, std::string_view line, const ProgramSource& source = {});
  void OnOutput(OutputStream stream, std::string_view piece);
  void OnSaved(const Result<CheckpointRef>& saved);
  // `folder`: where checkpoints go, for the message.
  void OnDiskFull(const std::string& folder, const Status& status);
  void OnAnswer(ReportAnswer answer, Instant now);
  // The worker's SIGTERM, which the program's group got too. The worker is patient for
  // limits::kKillGraceMs.
  void OnTerminate(Instant now);
  // The worker leaves within that time. A program whose reports have checkpoints goes on to its
  // next one, which is saved, and is told to stop there; any other gets SIGTERM, and that time.
  void OnLeave(Duration within, Instant now);
  // After all of its output.
  void OnProgramEnded(ProgramEnd end);
  void OnTime(Instant now);
  std::optional<Instant> NextDeadline() const;

  std::vector<CommandEffect> TakeEffects();

 private:
  static constexpr size_t kPendingMax = 1'000;
  static constexpr size_t kClientsKept = 16;

  struct Pending {
    ClientId client;  // 0: from the output, or from files.
    ProgramReport report;
    bool is_final = false;
    std::string note = {};
    std::string reading = {};
  };

  void AnswerRank(const Pending& pending);
  void NoteRank(const std::string& what);
  void Take(std::vector<OutputReport> reports);
  std::string NoteOnClients(ClientId client, const ProgramSource& source);
  // Answers a report that is not taken, and keeps why.
  void Refuse(const Pending& pending, const std::string& error);
  std::string Refused() const;
  void TakeLast();
  void Advance();
  bool Begin(Pending& pending);
  std::optional<std::string> Objection(const ProgramReport& report, int64_t iteration) const;
  // What the metric is made of and neither the report nor those before it in its iteration have.
  std::vector<std::string> MissingIn(const Metrics& metrics) const;
  void TakeOpenMetrics();
  void Send();
  void Answer(const Pending& pending, std::string line);
  void Stop(Instant now, bool listens);
  TrialEnd EndOfProgram() const;
  std::string WithRanks(std::string text) const;
  std::string NoMetric() const;
  std::string Again() const;
  std::string Reported(const std::string& missing) const;

  const CommandSpec& spec_;
  const std::string metric_;
  const std::vector<std::string> metric_names_;  // What a report of the metric has.
  const int64_t from_iteration_;
  const bool is_first_attempt_;
  const int64_t checkpoint_every_;
  const std::vector<std::string> wanted_;  // The names that all objectives are made of.
  const int64_t rank_;
  const int64_t world_size_;
  const int64_t master_port_;
  OutputMetrics output_;
  OutputTail tail_;

  std::deque<Pending> pending_;
  std::optional<Pending> under_way_;
  Report report_;  // Of what is under way.
  bool is_saving_ = false;
  bool shall_save_;  // The next report, whether due or not.
  int64_t last_iteration_;
  int64_t open_iteration_ = 0;     // Reported in part; 0: none.
  bool is_open_numbered_ = false;  // By the program; else a later report of it may.
  Metrics open_metrics_;           // What it has so far.
  std::set<std::string> reported_names_;
  std::vector<std::string> missing_names_;  // From the iteration that had most; empty: one had all.
  std::string unsent_note_;                 // Of a report that came after the stop.
  std::string rank_note_;                   // Of a rank that reports, and is not the first one.
  // Connections that have reported, in the order of their latest report.
  std::vector<ClientId> clients_;
  std::vector<int64_t> sources_;  // The same of what started them.
  bool has_noted_clients_ = false;
  int64_t refused_count_ = 0;
  std::string last_refusal_;
  bool has_taken_metric_ = false;  // A report of the metric, in this attempt.
  bool is_told_to_stop_ = false;
  bool is_told_to_end_ = false;
  bool has_checkpoints_;            // Its reports have, or those of an earlier attempt had.
  bool leaves_once_saved_ = false;  // It is told to stop with its next checkpoint.
  std::optional<Instant> terminate_at_;
  std::optional<Instant> kill_at_;
  std::optional<ProgramEnd> program_end_;
  std::optional<TrialEnd> verdict_;  // Whatever the program still does.
  bool is_finished_ = false;
  std::vector<CommandEffect> effects_;
};

}  // namespace tune
