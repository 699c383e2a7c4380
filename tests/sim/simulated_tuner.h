// The tuner's process, life after life: what `tune run` and `tune resume` are made of (tuner/cli),
// over a simulated disk, network and clock. The loop, the queue, the controller, recovery and the
// SQLite store are the production ones.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/commit_log.h"
#include "tests/sim/environment.h"
#include "tests/sim/fault_vfs.h"
#include "tests/sim/simulated_network.h"
#include "tuner/artifact_store.h"
#include "tuner/event_queue.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/tuner.h"

namespace tune::sim {

class SimulatedTuner final : public SimulatedNetwork::End,
                             public WorkerLink,
                             public ArtifactStore,
                             public Depot {
 public:
  SimulatedTuner(Environment& environment, SimulatedNetwork& network, FaultVfs& vfs,
                 CommitLog& log);
  ~SimulatedTuner() override;

  // `tune run`, or `tune resume` where there is something to go on with. An error: it ended again
  // before the sweep went on. Nothing is done when the sweep is over and is not extended.
  Status Start(std::optional<int64_t> extend_to);
  bool is_alive() const { return life_ != nullptr; }
  // How the last life ended, if it came to its own end: FINISHED, INTERRUPTED or STOPPED.
  std::optional<ExperimentStatus> ended_as() const { return ended_as_; }

  void Interrupt() { Command(InterruptRequested{}); }
  // What somebody asks of the living tuner; nothing where there is none.
  void Command(Event event);
  // The space file as it stands now; the tuner is alive.
  Value document() const;
  // It does not run for a time; what arrives waits.
  void Stop(Duration time);
  // kill -9, now. With `loses_power` the machine's unsynced bytes go too, and nobody is told.
  void Kill(bool loses_power);
  // The same at a changing system call from now on, or right after the next commit.
  void KillInCommit(int64_t calls);
  void KillAfterCommit() { dies_after_commit_ = true; }
  void set_loses_power_next(bool loses) { loses_power_next_ = loses; }

  // The database as a reader finds it, compared with what was acknowledged.
  void CheckDatabase();

  void OnBytes(ConnectionId connection, const std::string& bytes) override;
  void OnClosed(ConnectionId connection, const Status& reason) override;
  void Send(WorkerId worker, std::vector<ToWorker> messages) override;
  void Close(WorkerId worker) override;
  Status Remove(const std::string& path) override;
  bool Has(const std::string& path) const override {
    return !environment_.disk.List(path + "/").empty();
  }
  Result<int64_t> BeginCall(const std::string& session, const AttemptRef& ref) override;
  Result<std::string> Put(int64_t life, const AttemptRef& ref, const std::string& name,
                          const std::string& text) override;
  Result<std::string> Get(int64_t life, const std::string& path) override;

 private:
  class SeamStore;
  struct Life;

  Status Open(std::optional<int64_t> extend_to);
  Status Create();
  Status GoOn(const StoredExperiment& experiment, std::optional<int64_t> extend_to);
  std::optional<SettingsChanged> OtherTrainable() const;
  std::vector<Event> KnownAtStart() const;
  void BeginLoop(const StoredExperiment& experiment, int64_t last_step,
                 const std::vector<Event>& first_events);
  void PushEvent(Event event);
  void RequestStep();
  void ScheduleDeadline();
  void Step();
  void EndInOrder();
  void Die(bool loses_power, Duration notice);
  bool IsInLife(int64_t life) const;

  Environment& environment_;
  SimulatedNetwork& network_;
  FaultVfs& vfs_;
  CommitLog& log_;
  KeyedRandom random_;
  int64_t life_number_ = 0;
  std::unique_ptr<Life> life_;
  std::vector<Event> events_;    // Of the step that it takes.
  std::vector<Action> actions_;  // What they lead to.
  std::optional<ExperimentStatus> ended_as_;
  bool dies_after_commit_ = false;
  std::optional<int64_t> sends_left_;  // It dies while it acts.
  bool loses_power_next_ = false;
};

}  // namespace tune::sim
