// A training run at the end of an epoch, as a folder:
//
//   <parent>/checkpoint_000004/
//     model.safetensors   weights and batch-norm statistics, torchvision's names
//     state.safetensors   Adam ("adam.*"); the best epoch's weights ("best/<name>") if not these
//     manifest.json       epoch, options, history, sizes and XXH64 of the two files and of itself
//
// A folder of this name is a whole checkpoint or a damaged one, never a half-written one, also
// after a loss of power (core/posix/durable_folder.h). Shuffle, dropout and augmentation are
// functions of (seed, epoch), so no generator state is kept.
//
// Thread rule: any number of writers; each gets a folder of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/mobilenet_v2.h"
#include "models/train/epoch_report.h"
#include "models/train/food11_options.h"

namespace tune::models {

struct CheckpointState {
  Food11Options options;
  std::vector<std::string> class_names;
  uint64_t data_hash = 0;
  std::vector<EpochReport> history;  // One entry an epoch; not empty.
  int best_epoch = 0;                // By the run's rule (best_epoch.h); 0: there is none.
  // That the last epochs were computed with, on which the rounding of sums depends; 0: unknown, of
  // an earlier version.
  int threads = 0;
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> optimizer;
  std::vector<NamedTensor> best_weights;  // Empty if best_epoch is this epoch, or 0.

  int epoch() const { return static_cast<int>(history.size()); }
};

// "checkpoint_000004".
std::string CheckpointName(int epoch);

// Durable when it returns. Returns the folder's path: `name` in `parent`, with a number behind it
// where that is taken ("checkpoint_000004-2"). kResourceExhausted: the disk is full, and nothing is
// left behind.
Result<std::string> WriteCheckpoint(const std::string& parent, const std::string& name,
                                    const CheckpointState& state);

// Every checksum is verified before anything is used. kNotFound when there is no such folder;
// kDataLoss, naming the file and what is wrong, when sizes, checksums or contents are not what was
// written or the disk cannot read them.
Result<CheckpointState> ReadCheckpoint(const std::string& folder);

// What its manifest says: the state without tensors, and without a look at the files that hold
// these. Errors as of ReadCheckpoint.
Result<CheckpointState> ReadCheckpointManifest(const std::string& folder);

// Bytes and a checksum of a checkpoint's manifest, which itself covers the other files: for a
// catalogue.
struct CheckpointIdentity {
  uint64_t bytes = 0;  // Of the three files.
  uint64_t checksum = 0;
};
Result<CheckpointIdentity> IdentifyCheckpoint(const std::string& folder);

}  // namespace tune::models
