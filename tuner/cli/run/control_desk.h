// Where commands to living sweeps are served, between the steps of their loop.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ids.h"
#include "core/status.h"
#include "tuner/cli/run/doors.h"
#include "tuner/control/control_plan.h"
#include "tuner/control/control_server.h"
#include "tuner/controller.h"
#include "tuner/event_queue.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sweep_view.h"
#include "tuner/tuner.h"

namespace tune {

// What a head does beside what each tuner does.
class HeadDuties {
 public:
  virtual ~HeadDuties() = default;
  // A new sweep, stored and begun; the one that the same submission made before, where it comes
  // again. kInternal: the head cannot go on; other errors are refusals, and nothing was changed.
  struct Submitted {
    std::string name;
    bool is_new = true;
  };
  virtual Result<Submitted> Submit(const std::string& name, const Submission& submission) = 0;
  // What is asked of a sweep that is not open: to go on, to be deleted, and what ControlAtRest
  // does.
  virtual Result<std::vector<std::string>> DoAtRest(const ControlRequest& request) = 0;
};

// What a head with a cluster file does (cluster_lines.h).
class ClusterDuties {
 public:
  virtual ~ClusterDuties() = default;
  virtual std::string Describe() const = 0;
  // What the pools do about what each sweep waits for, by its name; a sweep that waits for nothing
  // of theirs is not in it.
  virtual std::map<std::string, std::string> DescribeWaits() const = 0;
  // What differs in the cluster file is applied; lines for a person say what does.
  // kInvalidArgument, kFailedPrecondition: it cannot be, and nothing is changed.
  virtual Result<std::vector<std::string>> Change(const std::string& file,
                                                  const std::string& document) = 0;
  // All workers are let go, and no new ones come.
  virtual void Close(bool at_once) = 0;
  virtual bool is_closing() const = 0;
};

class ControlDesk {
 public:
  struct Parts {
    const Controller& controller;
    Tuner& tuner;
    EventQueue& queue;  // Woken when there is something to serve.
    const Clock& clock;
    Doors& doors;
    SqliteStore& store;
    HeadDuties* head = nullptr;        // Null: a tuner of one sweep.
    ClusterDuties* cluster = nullptr;  // Null: a head without a cluster file.
  };
  // Listens in `folder` (<db stem>.artifacts) from now on. All others outlive it.
  ControlDesk(const std::string& folder, const Parts& parts);

  // Why nobody can reach it; what runs goes on without.
  const Status& status() const { return status_; }

  // Looks at each request that has come, takes it as a step of its own, and answers. An error is
  // Tuner::Step's: nothing of the last one is durable, and who asked for it is told so.
  Status Serve();

  // What was done on demand since the last call, for the person who watches.
  std::vector<std::string> TakeLines();

 private:
  Status ServeOne(const ControlServer::Arrival& arrival);
  Status ServeAllowed(const ControlServer::Arrival& arrival);
  void Answer(int64_t client, const ControlAnswer& answer);
  Result<std::string> OwnerOf(const ControlRequest& request) const;
  Result<std::optional<int64_t>> Record(const ControlRequest& request);
  Status Take(const ControlServer::Arrival& arrival, ExperimentId id, Result<ControlPlan> plan);
  Status Submit(const ControlServer::Arrival& arrival);
  ControlAnswer TellCluster(const ControlRequest& request);
  // kFailedPrecondition names a sweep other than `sweep` that is open.
  Status CheckAlone(const std::string& sweep) const;
  ControlAnswer Label(const ControlRequest& request);
  ControlAnswer DoAtRest(const ControlRequest& request);
  ControlAnswer OnceDurable(ControlAnswer answer) const;
  // The open sweep of that name.
  std::optional<ExperimentId> Find(const std::string& sweep) const;
  ControlAnswer Tell(ControlVerb verb, const SweepView& view) const;
  std::vector<std::string> DeviceLines(const SweepView& view) const;

  const Parts parts_;
  Status status_;
  std::vector<std::string> lines_;
  bool is_refused_ = false;  // What was answered last.
  std::unique_ptr<ControlServer> server_;
};

}  // namespace tune
