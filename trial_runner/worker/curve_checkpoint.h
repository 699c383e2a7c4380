// A checkpoint of the trainable `curve`, as a real one would be: a folder on disk with a checksum.
//
//   checkpoint_000005/
//     state.bin       as many bytes as were asked for, drawn from (seed, trial, iteration)
//     manifest.json   {"seed": "7", "trial": 0, "iteration": 5, "bytes": 4096,
//                      "state_xxh64": "...", "xxh64": "..."}; the last one covers the others
//
// Thread rule: pure functions but for the disk.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/checkpoint_place.h"

namespace tune {

// What a curve is, and where in it.
struct CurveState {
  uint64_t seed = 0;
  int64_t trial = 0;
  int64_t iteration = 0;
};

// Durable when it returns. kResourceExhausted: the disk is full.
Result<CheckpointRef> SaveCurveCheckpoint(CheckpointPlace& place, const CurveState& state,
                                          int64_t bytes);

// kNotFound when there is no such folder, kDataLoss when it is not what was written,
// kFailedPrecondition when it was written for another state (of the trial whose folder it lies in).
Status VerifyCurveCheckpoint(const std::string& folder, const CurveState& state);

}  // namespace tune
