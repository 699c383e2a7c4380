// Brings a sweep's data (command_inputs.h) from their object store into this machine's cache.
//
// Thread rule: any thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/command_inputs.h"
#include "trial_runner/sweep_info.h"

namespace tune {

struct FetchedInputs {
  std::string folder;  // In which each input is found by its name: links within the cache.
  std::vector<DataSeen> seen;
};

// A store that is away, or has nothing there, is waited for, until `stop` is requested; `on_wait`
// hears why, and now and then how far it is. What was brought stays as long as `held` is kept.
// Errors: of this machine, which may have no credentials that the store takes.
Result<FetchedInputs> FetchInputs(const std::vector<CommandInput>& inputs, const std::string& cache,
                                  std::vector<FileDescriptor>& held,
                                  const std::function<void(std::string)>& on_wait,
                                  const std::stop_token& stop);

}  // namespace tune
