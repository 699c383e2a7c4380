// The sweeps of a head: how they come, by a submission, from its last life or by a resume, what
// each needs while it is open, and how they go.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "core/posix/real_clock.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/package_source.h"
#include "tuner/cli/head/head_retention.h"
#include "tuner/cli/head/interrupted_sweeps.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/emptying_storages.h"
#include "tuner/cli/keep/folder_remover.h"
#include "tuner/cli/keep/kept_artifacts.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/cli/run/doors.h"
#include "tuner/cli/run/program_watch.h"
#include "tuner/controller.h"
#include "tuner/event_queue.h"
#include "tuner/experiment_spec.h"
#include "tuner/provenance.h"
#include "tuner/recovery.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/tuner.h"

namespace tune {

// A line of a head's log, with its time.
void LogOfHead(const std::string& line);

class HeadSweeps final : public HeadDuties {
 public:
  // All outlive it.
  struct Parts {
    const std::string& db_path;
    const std::string& program_dir;
    const WorkerCapacity& local;  // Of the head's own worker.
    SqliteStore& store;
    const Clock& clock;
    Controller& controller;
    Doors& doors;
    Tuner& tuner;
    EventQueue& queue;
    KeptArtifacts& artifacts;
    const RetentionRule& keep;
  };
  explicit HeadSweeps(const Parts& parts);

  // What the head's last life, and tuners that were killed, left running: before anything else.
  Status TakeUp(const TakenUp& taken);
  Result<Submitted> Submit(const std::string& name, const Submission& submission) override;
  Result<std::vector<std::string>> DoAtRest(const ControlRequest& request) override;
  void Leave(const EndOfExperiment& end);

  // Lines for the head's log, since the last call.
  std::vector<std::string> TakeLines() { return folders_.TakeLines(); }
  // At programs that are changed while they run, and at sweeps that are to be tried again. An error
  // is Tuner::Take's.
  Status Look();
  // Of an open one; empty: it is none.
  std::string NameOf(ExperimentId id) const;

 private:
  Result<std::vector<std::string>> ChangeAtRest(const StoredExperiment& experiment,
                                                const ControlRequest& request);
  Result<std::vector<std::string>> Delete(const StoredExperiment& experiment,
                                          const std::vector<StoredExperiment>& experiments);
  Result<std::vector<std::string>> Resume(const StoredExperiment& experiment,
                                          const ControlRequest& request);
  // What a new one needs, before anything is stored.
  Status CheckNew(const std::string& name, const ExperimentSpec& spec) const;
  // ClaimNew. Where the store did not answer, the mark that it may have taken is removed later.
  Status Claim(const StoredExperiment& experiment, const std::string& storage, Duration patience);
  // What waits for no store, which may be away.
  void CleanUpLater(const SweepStorage& storage);
  void Admit(const StoredExperiment& experiment);
  // What workers of other machines get of the sweep's folder. It is packed now where no package of
  // it is kept: the sweep was begun while nobody listened, or by another tuner. Null: they need
  // none.
  Result<std::shared_ptr<const PackageSource>> PackageOf(const ExperimentSpec& spec,
                                                         const Provenance& provenance) const;
  void NoteSubmitted(const StoredExperiment& experiment);
  // Of those that the last life left running.
  void NoteClosed(const std::vector<StoredExperiment>& experiments);
  Status LookAtInterrupted();
  void NoteInterrupted(ExperimentId id);
  // What a sweep that is taken up is told before its first step. It is given up where no worker
  // could get the folder that it runs in.
  std::vector<HeadEvent> FirstOf(const StoredExperiment& experiment, int64_t last_step);
  // What of the sweep stands before its first step: a pause, where it is to follow others.
  std::vector<HeadEvent> HeldBack(ExperimentId id, int64_t last_step);
  // Lets sweeps begin that follow others which are over, and stops those whose others have failed.
  Status LookAtOrder();
  // The sweep of that name has ended, or has changed while it does not run, or is gone: LookAtOrder
  // looks at those that follow it.
  void NoteOver(const std::string& name);
  void StopFollowing(ExperimentId id);
  void LookAtPrograms();
  // Removes sweeps and jobs that are over, as the rule says.
  Status LookAtEnded();
  bool MeasureEnded(std::vector<EndedSweep>& ended);
  void TrimPackages();

  const Parts parts_;
  const std::string artifacts_dir_;
  std::map<std::string, std::string> submitted_;  // Names of all sweeps, by their submissions.
  InterruptedSweeps interrupted_;
  // Hashes, of sweeps that stay closed: a build that can read them goes on with them.
  std::set<std::string> closed_packages_;
  EmptyingStorages emptying_;  // Of deleted sweeps.
  FolderRemover folders_;      // Of these, and of those that are over.
  Instant ended_due_;          // When those that are over are looked at.
  const AwakeClock awake_;     // Which nobody sets.
  const Instant begun_at_ = awake_.Now();
  // Of those that are open.
  std::map<ExperimentId, std::string> names_;
  std::map<ExperimentId, ProgramWatch> programs_;
  std::map<ExperimentId, SweepStorage> storages_;
  std::map<ExperimentId, std::string> packages_;                // Hashes.
  std::map<ExperimentId, std::vector<std::string>> following_;  // Names of those that go before.
  std::map<std::string, std::set<ExperimentId>> followers_;     // The same, by these names.
  std::set<ExperimentId> order_due_;  // Of these: LookAtOrder looks at them.
};

}  // namespace tune
