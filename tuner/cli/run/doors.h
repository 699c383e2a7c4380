// Where workers come in, the plain port for the tuner's own one and the encrypted one for others,
// and what they fetch and bring there for each sweep.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/incoming_sink.h"
#include "trial_runner/package/sweep_depots.h"
#include "trial_runner/package_shelf.h"
#include "tuner/cli/run/listening.h"
#include "tuner/experiment_spec.h"

namespace tune {

struct DoorOptions {
  std::string artifacts_dir;         // <db stem>.artifacts, absolute.
  std::string kept_as;               // Whose address it is, for who goes on (Listening::Invite).
  std::string listen;                // HOST:PORT for other machines; empty: none.
  Duration token_validity;           // Of the token in the join line.
  int64_t checkpoint_bytes_max = 0;  // Of one that a worker sends.
  bool has_local_worker = false;     // Else there is no plain port.
  WorkerId first_worker{1};
};

class Doors {
 public:
  static Result<std::unique_ptr<Doors>> Open(const DoorOptions& options, const Clock& clock,
                                             IncomingSink& sink);

  // A sweep's checkpoints come in, and its package, if it has one, goes out, from now on.
  // `spec`: says where its programs run.
  Status AddSweep(ExperimentId id, const std::string& name, const ExperimentSpec& spec,
                  std::shared_ptr<const PackageSource> package);
  void DropSweep(ExperimentId id);

  WorkerGateway& gateway() { return *gateway_; }
  const std::string& local_secret() const { return local_secret_; }
  const std::string& join_line() const { return join_line_; }  // Empty: nobody else can come.
  bool listens() const { return listening_ != nullptr; }
  int64_t CheckpointBytesOfLastHour() { return depots_.BytesOfLastHour(); }
  // Connections break; a local worker whose tuner is gone ends at once.
  void Close() { gateway_.reset(); }

 private:
  explicit Doors(const DoorOptions& options) : options_(options) {}

  const DoorOptions options_;
  std::map<ExperimentId, PackageName> packages_of_;
  // What the gateway asks, before it.
  std::unique_ptr<Listening> listening_;
  PackageShelf packages_;
  SweepDepots depots_;
  std::unique_ptr<WorkerGateway> gateway_;
  std::string local_secret_;
  std::string join_line_;
};

}  // namespace tune
