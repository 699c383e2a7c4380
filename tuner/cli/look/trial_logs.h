// The files with what a trial's attempts printed.
//
// Thread rule: one thread an object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ios>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "core/status.h"

namespace tune {

// By attempt; those of a trial's folder on this machine, of that one of its ranks. Empty where
// there is none. kFailedPrecondition: the folder cannot be read.
Result<std::map<int64_t, std::filesystem::path>> FindLogs(const std::filesystem::path& folder,
                                                          int64_t rank = 0);

// Prints what has come to the logs of a trial since the last time. Before each log but the first
// stands a line with its attempt: what is printed is the same, however often it was looked.
class LogTail {
 public:
  LogTail(std::string folder, std::ostream& out, int64_t rank = 0)
      : folder_(std::move(folder)), out_(out), rank_(rank) {}

  // Whether there was anything. kFailedPrecondition: the folder or a log cannot be read.
  Result<bool> Print();
  bool has_printed() const { return !printed_.empty(); }

 private:
  Result<bool> PrintOne(int64_t attempt, const std::filesystem::path& path, bool is_first);

  std::string folder_;
  std::ostream& out_;
  int64_t rank_;
  std::map<int64_t, std::streamoff> printed_;  // Bytes, by attempt.
  int64_t last_attempt_ = 0;
};

}  // namespace tune
