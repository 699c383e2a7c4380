// The files in which a user's program leaves its metrics (trainable: metrics: {acc: {json: ...}}).
//
// Thread rule: any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/status.h"
#include "trial_runner/command_spec.h"

namespace tune {

// What tells whether a file was written again. By its own clock: a server may have another one.
struct FileState {
  ino_t inode = 0;
  int64_t bytes = 0;
  int64_t seconds = 0, nanoseconds = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};
// Of each of the files, which may be relative to the folder; nothing: it is not there.
std::vector<std::optional<FileState>> StatesOf(const std::vector<std::string>& files,
                                               const std::string& folder);

// The number of each of the spec's metrics from its file. Errors name metric and file: it cannot be
// read, is no JSON, has no such number, or was there `before` the attempt, which has not written
// it.
Result<Metrics> ReadFileMetrics(const CommandSpec& spec, const std::vector<std::string>& files,
                                const std::string& folder,
                                const std::vector<std::optional<FileState>>& before);

}  // namespace tune
