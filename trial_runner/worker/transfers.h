// Texts of folders on their way to the tuner and from it (checkpoint_transfer.h), for as long as
// that takes: over breaks of the connection, from where they broke off, and again where they came
// wrong.
//
// Thread rule: any thread.
#pragma once

#include <stop_token>
#include <string>
#include <utility>

#include "core/limits.h"
#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/package/incoming_text.h"

namespace tune {

// The growing pauses between tries.
class TransferPauses {
 public:
  explicit TransferPauses(std::stop_token stop) : stop_(std::move(stop)) {}
  // False: told to stop.
  bool Wait();
  void Restart() { pause_ms_ = limits::kReconnectMs; }

 private:
  const std::stop_token stop_;
  int64_t pause_ms_ = limits::kReconnectMs;
};

// Where it is durable. kUnavailable: `stop` was requested; others as of CheckpointLink::Put.
Result<std::string> PutText(CheckpointLink& link, const PutCheckpoint& put,
                            const PackageSource& text, const std::stop_token& stop);

// All of what `path` on the tuner's machine is; it lies in `parent`, without a name. Errors as of
// PutText, and kDataLoss: the tuner has another one now.
Result<IncomingText> GetText(CheckpointLink& link, const AttemptRef& ref, const std::string& path,
                             const std::string& parent, const std::stop_token& stop);

// Whether it shall be tried again: it came wrong, and not often yet.
bool IsWorthAnotherTry(const Status& status, int& wrong_count);

// What an attempt's program left in `folder`, its trial's on this machine, goes to the tuner. What
// the tuner does not take is put aside here. `began_without`: those that earlier attempts left
// there had not come, so that nothing takes their place: it goes below `attempt_2_files`. Returns
// what the attempt's log is to say; empty: all is there.
std::string SendTrialFiles(CheckpointLink& link, const AttemptRef& ref, const std::string& folder,
                           bool began_without, const std::stop_token& stop);

// What earlier attempts of the trial left comes from `path`, its folder on the tuner's machine,
// into `folder`. Returns a line for the attempt's log where they cannot be had; empty: they are
// here, or there are none. Errors: kUnavailable: `stop` was requested; kFailedPrecondition: the
// lease is over; kResourceExhausted: this machine's disk is full; kDataLoss: they come wrong.
Result<std::string> ObtainTrialFiles(CheckpointLink& link, const AttemptRef& ref,
                                     const std::string& path, const std::string& folder,
                                     const std::stop_token& stop);

}  // namespace tune
