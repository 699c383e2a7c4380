// A job, any program that runs once, as the sweep of one trial that it is: its metric is its exit
// status, which is only reported by one that ended well.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

struct JobOptions {
  std::vector<std::string>
      program;  // With its arguments, each as it is meant: nothing is filled in.
  std::optional<std::string> name;
  std::string working_dir = ".";  // Its own in the end: absolute.
  // As in a space file.
  std::optional<std::string> cpus, gpus, gpu_memory, memory, workers, time, unplaceable, setup;
  bool spread = false;
  std::vector<std::string> env;  // NAME=VALUE, or NAME.
  std::optional<int64_t> retries, priority;
};

// The document of its space file. kInvalidArgument: a variable without a name.
Result<Value> JobDocument(const JobOptions& options);

// "train" of python3 train.py, "make" of make all: what the job is called where nothing is said.
std::string JobName(const std::vector<std::string>& program);

}  // namespace tune
