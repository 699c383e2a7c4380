// Where a sweep's programs run on this machine, which need not be where they would on the tuner's.
//
// Thread rule: values.
#pragma once

#include <string>
#include <vector>

#include "trial_runner/command_inputs.h"
#include "trial_runner/messages.h"

namespace tune {

// What a trial process is told of it.
struct WorkPlace {
  std::string folder;   // Absolute; empty: where the space file says.
  std::string content;  // SHA-256 of what was in it when the sweep began; empty: not known.
  std::string cache;    // Absolute: what other sweeps can use too; empty: nowhere.
  std::string inputs =
      {};  // Absolute: the folder of its inputs (command_inputs.h); empty: it has none.
  std::string address = "127.0.0.1";  // Of this machine, as the other ranks of an attempt reach it.
  bool has_own_artifacts = false;  // The artifact folder is this machine's: no other one sees it.
  friend bool operator==(const WorkPlace&, const WorkPlace&) = default;
};

// On the tuner's machine.
struct WantedPlace {
  PackageName package;        // Without a hash: the sweep's programs need no folder.
  std::string folder;         // The working_dir.
  std::string artifacts;      // Of the sweep's trials; empty: they are known.
  bool is_elsewhere = false;  // SweepInfo's.
  std::string bucket = {};    // Likewise.
  bool is_here = false;       // This machine is the tuner's: the artifacts are where they are said.
  bool lends_credentials = false;  // SweepInfo's.
  std::vector<CommandInput> inputs = {};
  std::string whose = {};  // The sweep's own: by its name, folder and seed.
  friend bool operator==(const WantedPlace&, const WantedPlace&) = default;
};

// Where what the sweep's trials save is kept, but for checkpoints in an object store
// (checkpoint_store.h).
enum class CheckpointStorage {
  kSharedFolder,  // In the artifact folder, which this machine writes and the tuner reads.
  kTuner,         // At the tuner; what is in the artifact folder here is a copy.
};

// On this one.
struct FoundPlace {
  WorkPlace place;
  std::string artifacts;
  CheckpointStorage storage = CheckpointStorage::kSharedFolder;
  std::string bucket = {};         // Where checkpoints are kept; empty: they are where all else is.
  bool lends_credentials = false;  // The tuner signs what is asked of it.
  std::vector<DataSeen> data = {};  // Of object stores, as they were brought here.
};

// A checkpoint that is kept elsewhere, on this machine's disk.
struct CheckpointCopy {
  std::string folder;  // Empty: there is none.
  // Of its text (package/folder_text.h); in an object store of its manifest.
  std::string sha256;
  friend bool operator==(const CheckpointCopy&, const CheckpointCopy&) = default;
};

// What a store has kept.
struct KeptCheckpoint {
  std::string path;     // Where the tuner finds it.
  CheckpointCopy copy;  // Of a store that is elsewhere.
};

}  // namespace tune
