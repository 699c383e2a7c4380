// What a worker is told of a sweep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"

namespace tune {

// A folder's content, as one text (trial_runner/package/package_format.h).
struct PackageName {
  std::string sha256;  // Of the text: 64 lower-case hexadecimal digits. Empty: there is none.
  int64_t bytes = 0;
  friend bool operator==(const PackageName&, const PackageName&) = default;
};

// Data in an object store, as they were listed.
struct DataSeen {
  std::string url;  // "s3://bucket/prefix".
  int64_t file_count = 0;
  int64_t bytes = 0;
  std::string hash;  // Of all paths, sizes and ETags: the same from wherever they are listed.
  friend bool operator==(const DataSeen&, const DataSeen&) = default;
};

// What workers need of a sweep beside its space file.
struct OfferedToWorkers {
  PackageName package = {};
  // Who submitted it has its folder on another machine than the tuner's: nobody shares that.
  bool is_elsewhere = false;
  // As they were when the sweep began, as far as the tuner could see them.
  std::vector<DataSeen> data = {};
};

inline constexpr size_t kDataSeenMax = 1'000;  // Of one sweep.
inline constexpr size_t kOwnPathsMax = 1'000;  // Likewise.

// A sweep, as a worker has to know it before its first attempt there.
struct SweepInfo {
  ExperimentId sweep = {};
  std::string experiment;    // Its name.
  std::string metric;        // The sweep's metric: a curve reports it.
  std::string trainable;     // JSON of the spec's `trainable`.
  std::string base_dir;      // The space file's folder.
  uint64_t seed = 0;         // The sweep's.
  PackageName package = {};  // Of a command's working_dir: who has no such folder asks for it.
  std::vector<std::string> more_metrics = {};  // Of several objectives: those after `metric`.
  Mode mode = Mode::kMax;                      // Of `metric`.
  std::vector<std::string> constrained = {};   // Metrics that constraints name.
  // Who submitted it has its folder on another machine than the tuner's: nobody shares that.
  bool is_elsewhere = false;
  // Its checkpoints are kept below this, "s3://bucket/prefix/name"; empty: on the tuner's disk.
  std::string bucket = {};
  // Reports do not wait until their checkpoints are kept where they are sent to.
  bool has_async_checkpoints = false;
  bool lends_credentials = false;  // The tuner signs what its workers ask of the bucket.
  // As they were when the sweep began, as far as the tuner could see them.
  std::vector<DataSeen> data = {};
  // food11's `data` and `weights`, where they are not the same for all trials: one that is not
  // there is the configuration's matter, and not the machine's.
  std::vector<std::string> own_paths = {};
  friend bool operator==(const SweepInfo&, const SweepInfo&) = default;
};

}  // namespace tune
