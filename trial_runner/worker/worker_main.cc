// tune_worker: a worker as a program of its own.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/posix/environment.h"
#include "core/resources.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/run_worker.h"

namespace {

constexpr char kLocalSecretVariable[] = "TUNE_LOCAL_SECRET";
constexpr char kJoinVariable[] = "TUNE_JOIN";

// What a program is given in its environment, but its trials are not.
std::string TakeSecret(const char* variable) {
  std::string secret = tune::EnvironmentText(variable);
  unsetenv(variable);
  return secret;
}

// Other users of this machine can read a program's arguments.
void HideToken(int argc, char** argv) {
  constexpr std::string_view kOption = "--join";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kOption && i + 1 < argc) {
      std::memset(argv[i + 1], '*', std::strlen(argv[i + 1]));
    } else if (argument.starts_with("--join=")) {
      std::memset(argv[i] + kOption.size() + 1, '*', argument.size() - kOption.size() - 1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  tune::WorkerOptions options;
  double cpus = -1;
  CLI::App app("Runs trials for a tuner until the tuner ends, or SIGTERM.", "tune worker");
  app.footer(
      "Example:\n  tune worker --connect tuner.example.org:7443 --join tune1_... --cpus 4 --gpus "
      "1");
  app.set_version_flag("--version", tune::kProgramVersion);
  app.add_option("--connect", options.connect, "The tuner's address")
      ->type_name("HOST:PORT")
      ->required();
  app.add_option("--join", options.join,
                 "The token in the line that tune run --listen prints (or TUNE_JOIN)")
      ->type_name("TOKEN");
  app.add_option("--cpus", cpus, "CPUs to offer (default: this machine's cores)")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--gpus", options.gpu_count,
                 "GPUs to offer (default: all that NVIDIA's driver knows here)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--name", options.name, "What people call it (default: the host's name)")
      ->type_name("NAME");
  options.cache = tune::UserCacheFolder();
  app.add_option("--cache", options.cache,
                 "Where folders that the tuner sends and what `setup` makes are kept (default: " +
                     (options.cache.empty() ? std::string("none") : options.cache) + ")")
      ->type_name("DIR");
  app.add_flag("--local", options.is_local, "Ends, with all its trials, when the tuner is gone");
  app.add_option("--prewarm", options.prewarm, "Start a trial process of this trainable at once")
      ->type_name("KIND");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  HideToken(argc, argv);
  options.local_secret = TakeSecret(kLocalSecretVariable);
  const std::string join = TakeSecret(kJoinVariable);
  if (options.join.empty() && !options.is_local) options.join = join;
  if (cpus >= 0) options.cpu_milli = std::llround(cpus * tune::kWholeMilli);
  return tune::RunWorker(options);
}
