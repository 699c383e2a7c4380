#include "tuner/sqlite/artifact_rows.h"

#include <optional>
#include <string>
#include <string_view>

#include "trial_runner/messages.h"
#include "tuner/artifact_path.h"
#include "tuner/stored_names.h"

namespace tune {
namespace {

CheckpointState ParseCheckpointState(std::string_view name) {
  for (const CheckpointState state : {CheckpointState::kCorrupt, CheckpointState::kRemoved}) {
    if (name == CheckpointStateName(state)) return state;
  }
  return CheckpointState::kDurable;
}

// A local worker dies with its tuner; one of another name may go on for its lease.
Status ReadTrials(Database& database, const std::string& only, KnownSweeps& sweeps) {
  static constexpr char kTrialsSql[] =
      "SELECT e.name, t.number, t.status, EXISTS (SELECT 1 FROM attempt_rows AS a"
      "   LEFT JOIN worker_rows AS w ON w.id = a.worker WHERE a.trial = t.id"
      "   AND a.outcome = 'running' AND coalesce(w.name, '') <> ?2)"
      " FROM experiment_rows AS e"
      " LEFT JOIN trial_rows AS t ON t.experiment = e.id"
      " WHERE ?1 = '' OR e.name = ?1 ORDER BY e.id, t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(only, kLocalWorkerName);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    KnownSweep& sweep = sweeps[std::string(row->Text(0))];
    if (row->IsNull(1)) continue;
    KnownTrial& trial = sweep.trials[row->Int(1)];
    // What this program does not know is not over, and not to be removed.
    trial.status = FindTrialStatus(row->Text(2)).value_or(TrialStatus::kRunning);
    trial.may_run = row->Int(3) != 0;
  }
  return OkStatus();
}

Status ReadCheckpoints(Database& database, const std::string& only, const PathTest& is_there,
                       KnownSweeps& sweeps) {
  static constexpr char kCheckpointsSql[] =
      "SELECT e.name, t.number, c.path, c.state FROM checkpoint_rows AS c"
      " JOIN trial_rows AS t ON t.id = c.trial JOIN experiment_rows AS e ON e.id = t.experiment"
      " WHERE ?1 = '' OR e.name = ?1 ORDER BY c.trial, c.iteration, c.path";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kCheckpointsSql));
  row->BindAll(only);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const std::string name(row->Text(0));
    const int64_t number = row->Int(1);
    const std::optional<std::string> within = WithinTrialFolder(row->Text(2), name, number);
    if (!within || (is_there && !is_there(std::string(row->Text(2))))) continue;
    sweeps[name].trials[number].checkpoints.push_back(
        {*within, ParseCheckpointState(row->Text(3))});
  }
  return OkStatus();
}

}  // namespace

Result<KnownSweeps> ReadKnownSweeps(Database& database, const std::string& sweep,
                                    const PathTest& is_there) {
  KnownSweeps sweeps;
  TUNE_RETURN_IF_ERROR(database.Execute("BEGIN"));
  TUNE_RETURN_IF_ERROR(ReadTrials(database, sweep, sweeps));
  TUNE_RETURN_IF_ERROR(ReadCheckpoints(database, sweep, is_there, sweeps));
  TUNE_RETURN_IF_ERROR(database.Execute("COMMIT"));
  return sweeps;
}

Result<std::vector<DurableCheckpoint>> ReadDurableCheckpoints(Database& database) {
  static constexpr char kDurableSql[] =
      "SELECT c.trial, e.name, t.number, c.iteration, c.path, c.bytes, c.checksum"
      " FROM checkpoint_rows AS c JOIN trial_rows AS t ON t.id = c.trial"
      " JOIN experiment_rows AS e ON e.id = t.experiment WHERE c.state = 'durable'"
      " ORDER BY c.trial, c.iteration, c.path";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kDurableSql));
  std::vector<DurableCheckpoint> checkpoints;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    checkpoints.push_back({row->Int(0), std::string(row->Text(1)), row->Int(2), row->Int(3),
                           std::string(row->Text(4)), row->Int(5), std::string(row->Text(6))});
  }
  return checkpoints;
}

}  // namespace tune
