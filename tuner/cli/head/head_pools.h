// The pools of a head that has a cluster file: what its sweeps wait for becomes requests to
// engines, and what engines answer becomes news.
//
// Thread rule: one thread, the head's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "tuner/cli/head/cluster_state.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/cli/run/doors.h"
#include "tuner/controller.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine_desk.h"
#include "tuner/engines/pool_book.h"
#include "tuner/event_queue.h"
#include "tuner/tuner.h"

namespace tune {

class HeadPools final : public ClusterDuties {
 public:
  struct Parts {
    ClusterSpec cluster;
    std::string path;  // Of the cluster file, absolute; it is locked.
    FileDescriptor lock;
    std::string artifacts_dir;
    std::string program_dir;
    Controller& controller;
    Tuner& tuner;
    Doors& doors;
    EventQueue& queue;
    const Clock& clock;
    Duration token_validity;  // Of what workers join with.
  };
  static Result<std::unique_ptr<HeadPools>> Open(Parts parts);

  // Often. kInternal: a step could not be committed; the head ends. What was asked for could not be
  // written down: nothing is asked of engines until it can.
  Status Look();
  void Close(bool at_once) override { book_->Close(at_once); }
  bool is_closing() const override { return book_->is_closing(); }
  Result<std::vector<std::string>> Change(const std::string& file,
                                          const std::string& document) override;
  // For tune cluster (cluster_lines.h).
  std::string Describe() const override;
  std::map<std::string, std::string> DescribeWaits() const override;
  std::vector<std::string> TakeLines();

 private:
  explicit HeadPools(Parts parts) : parts_(std::move(parts)) {}
  Status Drain(const std::vector<std::string>& names);
  void Promise();
  void LookAtToken(Instant now);

  Parts parts_;
  std::optional<ClusterState> state_;
  std::optional<PoolBook> book_;
  std::optional<EngineDesk> desk_;
  std::optional<PoolOrders> held_;  // Until what was asked for is written down.
  std::vector<std::string> lines_;
  Instant look_again_at_;
  Instant renew_token_at_;
  bool is_write_failing_ = false;
};

}  // namespace tune
