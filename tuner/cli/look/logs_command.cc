#include "tuner/cli/look/logs_command.h"

#include <cstdint>
#include <memory>
#include <optional>

#include "tuner/artifact_path.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_logs.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr Duration kLookAtLogEvery = Milliseconds(300);

struct LoggedTrial {
  FoundTrial trial;
  bool may_print_more = false;
  std::string workers;  // Of its attempts, for a person.
  int64_t rank_count = 1;
};

Status CheckRank(int64_t rank, int64_t count) {
  if (rank < count) return OkStatus();
  return InvalidArgument("--rank: read " + std::to_string(rank) + ", expected " +
                         (count == 1 ? "0: each trial of this sweep is one program"
                                     : "0 to " + std::to_string(count - 1) +
                                           " (resources.workers: " + std::to_string(count) + ")"));
}

Result<LoggedTrial> ReadState(const LogsOptions& options) {
  static constexpr char kStatusSql[] =
      "SELECT t.status, EXISTS (SELECT 1 FROM attempts AS a WHERE a.trial = t.id"
      " AND a.outcome = 'running') FROM trials AS t WHERE t.id = ?1";
  static constexpr char kWorkersSql[] =
      "SELECT DISTINCT w.name, w.address FROM attempts AS a JOIN workers AS w ON w.id = a.worker"
      " WHERE a.trial = ?1 ORDER BY w.id";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  LoggedTrial state;
  TUNE_ASSIGN_OR_RETURN(state.trial, FindTrial(*database, options.trial));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kStatusSql));
  row->BindAll(state.trial.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (has_row) {
    const bool is_over = row->Text(0) == "TERMINATED" || row->Text(0) == "ERROR";
    const bool is_living = state.trial.sweep.status == "RUNNING";
    state.may_print_more = is_living && (!is_over || row->Int(1) != 0);
  }
  if (options.rank > 0) {
    TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(*database, state.trial.sweep));
    state.rank_count = spec.resources.workers;
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement worker, database->Kept(kWorkersSql));
  worker->BindAll(state.trial.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_worker, worker->Step());
    if (!has_worker) break;
    state.workers += (state.workers.empty() ? "" : ", ") + Printable(worker->Text(0)) + " (" +
                     Printable(worker->Text(1)) + ")";
  }
  return state;
}

}  // namespace

int LogsCommand(const LogsOptions& options, const WaitFunction& wait, std::ostream& out,
                std::ostream& err) {
  std::optional<LogTail> tail;
  for (;;) {
    // Before the logs are read: what a trial that has ended had printed is there.
    const Result<LoggedTrial> state = ReadState(options);
    if (!state.ok()) return Complain(state.status(), err);
    const FoundTrial& trial = state->trial;
    if (!tail) {
      if (const Status known = CheckRank(options.rank, state->rank_count); !known.ok()) {
        return Complain(known, err);
      }
      tail.emplace(TrialFolder(ArtifactsDirOf(options.db_path), trial.sweep.name, trial.number),
                   out, options.rank);
    }
    if (const Result<bool> printed = tail->Print(); !printed.ok()) {
      return Complain(printed.status(), err);
    }
    if (options.follow && state->may_print_more && wait(kLookAtLogEvery)) continue;
    if (!tail->has_printed()) {
      err << "nothing on this machine was printed by "
          << (options.rank == 0 ? "" : "rank " + std::to_string(options.rank) + " of ") << "trial "
          << Printable(trial.Name())
          << (state->workers.empty() ? "; it has not run yet" : "; it ran on " + state->workers)
          << "\n";
    }
    return 0;
  }
}

}  // namespace tune
