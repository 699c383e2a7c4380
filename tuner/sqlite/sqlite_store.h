// The Store over a SQLite file: one transaction a commit, synced before it is acknowledged (WAL,
// synchronous = FULL).
//
// Thread rule: one thread, the tuner's. Readers open a Database of their own with Access::kRead.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/file_watch.h"
#include "tuner/sqlite/left_storages.h"
#include "tuner/sqlite/writer_lock.h"
#include "tuner/store.h"

namespace tune {

// What was asked of a tuner, and by whom.
struct StoredChange {
  std::string sweep;      // Its name; of what is about no sweep "".
  bool outlives = false;  // The sweep and its rows: it is deleted by this.
  Instant at;
  std::string change;  // "set limits.max_concurrent=4"
  std::string by;      // Whose key it was, or the user's name.
  std::string role;    // Of that key; "" without one.
};

class SqliteStore final : public Store {
 public:
  // Takes the writer's lock, opens and migrates. `access` is kWrite (resume: the file must be a
  // tune database) or kCreate (run: a missing or empty file becomes one). Errors are those of
  // Database::Open, AcquireWriterLock and Migrate; an error leaves nothing new behind. With a `vfs`
  // no lock is taken.
  static Result<std::unique_ptr<SqliteStore>> Open(const std::string& path, Access access,
                                                   Instant now, const std::string& vfs = "");
  // Leaves the WAL empty where it can, also where another program has the database open: joined
  // with a file that somebody puts in the database's place, what is in it would spoil that one.
  ~SqliteStore() override;

  // This is a head's: what it works on is not said in the lock's file sweep by sweep.
  Status AnnounceHead();

  Result<StoredExperiment> CreateExperiment(const NewExperiment& experiment) override;
  Status MakeDurable() override;
  // With all its rows; nothing may be committed of it any more.
  Status DeleteExperiment(const StoredExperiment& experiment);
  // ForgetLeftStorage.
  Status ForgetLeft(const LeftStorage& left) { return ForgetLeftStorage(*database_, left); }
  // What a person writes to a sweep, at any time; returns what it has now. Errors of Changed;
  // kNotFound, too: there is no such sweep.
  Result<SweepLabels> Label(const std::string& name, const LabelChange& change);
  // Before it is done, and durable with the next commit; forgotten where it is refused. Its id.
  Result<int64_t> RecordChange(const StoredChange& change);
  Status ForgetChange(int64_t id);
  Status CommitSteps(std::span<const SweepStep> steps) override;
  void Release(ExperimentId experiment) override { known_.erase(experiment); }
  Result<std::vector<StoredExperiment>> ListExperiments() override;
  Result<std::vector<std::pair<TrialNumber, Configuration>>> ReadSuggestions(
      ExperimentId experiment) override;
  Status EachStep(ExperimentId experiment, const StepTaker& take) override;
  Result<std::vector<TrialRow>> ReadTrials(ExperimentId experiment) override;
  Result<std::vector<ReportRow>> ReadReports(ExperimentId experiment) override;
  Result<std::vector<WorkerRow>> ReadWorkers(ExperimentId experiment) override;
  Result<WorkerId> LastWorker() override;

  // How many sweeps' row ids are in memory.
  size_t known_count() const { return known_.size(); }

 private:
  // Of an experiment that is written: the rows' ids by number, and its journal's end.
  struct RowIds {
    uint64_t last_checksum = 0;
    std::vector<int64_t> trials;  // 0: no such row.
    // A head's sweep has few of all that ever joined it.
    std::map<WorkerId, int64_t> workers;
  };

  SqliteStore(std::optional<WriterLock> lock, std::unique_ptr<Database> database)
      : lock_(std::move(lock)), database_(std::move(database)), files_(database_->path()) {}

  Status WriteAll(std::span<const SweepStep> steps);
  Status WriteRows(const SweepStep& step);
  Status CheckFiles();
  void NoteWritten();
  Result<StoredExperiment> InsertExperiment(const NewExperiment& experiment);
  // Does what `write` does, and leaves the sync to the next transaction.
  Status WithoutSync(const std::function<Status()>& write);
  Result<SweepLabels> UpdateLabels(const std::string& name, const LabelChange& change);
  Status EraseExperiment(const StoredExperiment& experiment);
  Status KeepCopy(const std::string& what);
  Status WriteStep(ExperimentId experiment, const JournalStep& step);
  Status WriteNewTrial(ExperimentId experiment, const NewTrialRow& row);
  Status WriteTrial(const TrialRow& row);
  Result<std::string> TextOfDevices(const AttemptRow& row) const;
  Status WriteAttempt(const AttemptRow& row);
  Status WriteReport(const ReportRow& row);
  Status WriteOrder(const OrderRow& row);
  Status WriteExploit(const ExploitRow& row);
  Status WriteCheckpoint(const CheckpointRow& row);
  Status WriteWorker(ExperimentId experiment, const WorkerRow& row);
  Status WriteNote(const NoteRow& row);
  Status WriteLaneSpeed(ExperimentId experiment, const LaneSpeedRow& row);
  Status WriteExperiment(ExperimentId experiment, const ExperimentRow& row);

  // Also says in the lock's file which sweep is worked on, but for a head.
  Status LoadRowIds(ExperimentId experiment);
  Result<int64_t> TrialId(TrialNumber number) const;
  Result<int64_t> WorkerRowId(WorkerId worker) const;

  std::optional<WriterLock> lock_;  // Given back after the database is closed.
  std::unique_ptr<Database> database_;
  FileWatch files_;
  std::optional<JournalEnd> committed_;  // By this process.
  bool has_unsynced_ = false;            // Something was created, and no commit came since.
  std::map<ExperimentId, RowIds> known_;
  std::map<std::string, int64_t> next_suffix_;  // Of names that were taken.
  RowIds* ids_ = nullptr;                       // Of the one that is being written.
  std::string text_;                            // JSON of the row being written.
};

}  // namespace tune
