// tune_worker: a worker as a program of its own.
#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "core/resources.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/run_worker.h"

int main(int argc, char** argv) {
  tune::WorkerOptions options;
  double cpus = -1;
  CLI::App app("Runs trials for a tuner until the tuner ends, or SIGTERM.");
  app.footer("Example:\n  tune_worker --connect 127.0.0.1:7000 --cpus 4 --gpus 1");
  app.set_version_flag("--version", tune::kProgramVersion);
  app.add_option("--connect", options.connect, "The tuner's address; this machine's loopback alone")
      ->type_name("HOST:PORT")
      ->required();
  app.add_option("--cpus", cpus, "CPUs to offer (default: this machine's cores)")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--gpus", options.gpu_count, "GPUs to offer (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--name", options.name, "What people call it (default: the host's name)")
      ->type_name("NAME");
  app.add_flag("--local", options.is_local, "Ends, with all its trials, when the tuner is gone");
  app.add_option("--prewarm", options.prewarm, "Start a trial process of this trainable at once")
      ->type_name("KIND");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (cpus >= 0) options.cpu_milli = std::llround(cpus * tune::kWholeMilli);
  return tune::RunWorker(options);
}
