// Checkpoints on their way between a worker that does not see the tuner's disk and its tuner: what
// is said, and the seams. What lies between is grpc/; the tuner's end on disk is
// package/artifact_depot.h, the worker's worker/checkpoint_store.h.
//
// A checkpoint travels as one text (package/package_format.h), whose SHA-256 and size are said
// first. So a transfer that broke off is gone on from, and what comes changed is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/package_source.h"

namespace tune {

// ---- what a worker asks, first and once in a call

// Does the tuner see the file that the worker wrote into the sweep's artifact folder, or into the
// folder of its programs? Then they share it.
struct SeeNonce {
  std::string nonce;  // What is in the file NonceFile(nonce).
  ExperimentId sweep = {};
  bool is_of_programs = false;
};
inline constexpr size_t kNonceBytes = 32;  // Lower-case hexadecimal digits.
inline constexpr char kNoncePrefix[] = ".nonce-";
inline std::string NonceFile(const std::string& nonce) { return kNoncePrefix + nonce; }

// An attempt has saved this; its text follows.
struct PutCheckpoint {
  AttemptRef ref;    // A lease that the worker holds.
  std::string name;  // Of the folder, in the trial's.
  PackageName text;
};

// An attempt goes on from this.
struct GetCheckpoint {
  AttemptRef ref;
  std::string path;    // As the tuner said in StartAttempt.
  int64_t offset = 0;  // Of the text: what the worker has.
};

// What an attempt has printed, from that byte of its log on: limits::kPackagePieceBytes at most.
struct PutLog {
  AttemptRef ref;  // A lease that the worker holds.
  int64_t rank = 0;
  int64_t offset = 0;
  std::string text;
};

// A request that the worker is about to make to the sweep's object store, without credentials of
// its own: the tuner signs it.
struct SignStoreRequest {
  AttemptRef ref;      // A lease that the worker holds.
  std::string method;  // "PUT".
  std::string key;     // Whole.
  std::vector<std::pair<std::string, std::string>> query = {};
  // Of what it sends, lower-case hexadecimal: the store takes nothing else. Empty: it sends
  // nothing.
  std::string sha256 = {};
};

struct CheckpointCall {
  std::string session;  // As in Hello, of a worker that is attached.
  std::variant<SeeNonce, PutCheckpoint, GetCheckpoint, PutLog, SignStoreRequest> what;
};

// ---- what the tuner answers

struct CheckpointAnswer {
  bool is_seen = false;  // To SeeNonce.
  int64_t offset = 0;    // To PutCheckpoint, first, and to PutLog: what the tuner has of it.
  std::string path;      // To PutCheckpoint, last: it is durable there.
  PackageName text;      // To GetCheckpoint; its text follows.
  std::string url;       // To SignStoreRequest: what the store takes for a while.
};

// ---- the tuner's end

// A checkpoint that comes in.
//
// Thread rule: one thread.
class IncomingCheckpoint {
 public:
  virtual ~IncomingCheckpoint() = default;
  virtual int64_t offset() const = 0;  // What is here of its text.
  virtual Status Append(std::string_view piece) = 0;
  // Once, when all is here: durable when it returns its path. kDataLoss: it is not what was named.
  virtual Result<std::string> Commit() = 0;
};

// Thread rule: any thread, several at once.
class CheckpointDepot {
 public:
  virtual ~CheckpointDepot() = default;
  virtual bool Sees(const SeeNonce& see) = 0;
  // kInvalidArgument: such a checkpoint is not taken, ever; kResourceExhausted: there is no room
  // for it; kUnavailable: it comes in already.
  virtual Result<std::unique_ptr<IncomingCheckpoint>> Receive(const PutCheckpoint& put) = 0;
  // kNotFound: it is not here; kInvalidArgument: it is none that is sent, or cannot be read.
  virtual Result<std::unique_ptr<PackageSource>> Open(const GetCheckpoint& get) = 0;
  // How many bytes of the log are here then; what does not follow them is left out. kUnavailable:
  // some of it comes in already.
  virtual Result<int64_t> TakeLog(const PutLog& put) = 0;
  // kInvalidArgument: no worker needs that; kFailedPrecondition: none are signed for this sweep.
  virtual Result<std::string> Sign(const SignStoreRequest& request);
};

// Of an attempt's log, in its trial's folder; each rank has its own.
inline std::string AttemptLogName(AttemptNumber attempt, int64_t rank) {
  return "attempt_" + std::to_string(attempt.value) +
         (rank == 0 ? "" : "_rank_" + std::to_string(rank)) + ".log";
}

// ---- the worker's end

// Each is one call, which ends when `stop` is requested. kUnavailable: the connection broke, the
// worker is not attached just now, or the tuner is busy: another call may go on from there.
// kFailedPrecondition: the worker does not hold that lease (any more). Other errors are the
// depot's.
//
// Thread rule: any thread, several at once.
class CheckpointLink {
 public:
  virtual ~CheckpointLink() = default;
  virtual Result<bool> Sees(const SeeNonce& see, std::stop_token stop) = 0;
  // Where it is durable.
  virtual Result<std::string> Put(const PutCheckpoint& put, const PackageSource& text,
                                  std::stop_token stop) = 0;
  // `begin` hears what will come, then `take` hears all of it from the offset on, in order; an
  // error of theirs ends the call and is its own.
  struct Taker {
    std::function<Status(const PackageName&)> begin;
    std::function<Status(std::string_view)> take;
  };
  virtual Status Get(const GetCheckpoint& get, const Taker& taker, std::stop_token stop) = 0;
  // As CheckpointDepot::TakeLog.
  virtual Result<int64_t> SendLog(const PutLog& put, std::stop_token stop) = 0;
  // As CheckpointDepot::Sign.
  virtual Result<std::string> Sign(const SignStoreRequest& request, std::stop_token stop);
};

inline Result<std::string> CheckpointDepot::Sign(const SignStoreRequest&) {
  return FailedPrecondition("no requests are signed here");
}
inline Result<std::string> CheckpointLink::Sign(const SignStoreRequest&, std::stop_token) {
  return FailedPrecondition("no requests are signed here");
}

}  // namespace tune
