// The options of `tune worker`, for the program itself and for what tells of it.
//
// Thread rule: one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "trial_runner/worker/run_worker.h"

namespace tune {

// `options` and `cpus` must live as long as `app`; `cpus` is what --cpus says, below 0: nothing.
void AddWorkerOptions(CLI::App& app, WorkerOptions& options, double& cpus);

}  // namespace tune
