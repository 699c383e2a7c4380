// tune_worker: a worker as a program of its own.
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>

#include "core/posix/environment.h"
#include "core/posix/process_limits.h"
#include "core/resources.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/run_worker.h"
#include "trial_runner/worker/worker_command_line.h"

namespace {

constexpr char kLocalSecretVariable[] = "TUNE_LOCAL_SECRET";
constexpr char kJoinVariable[] = "TUNE_JOIN";

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
  tune::MeetLimits();
  // A worker does not end because nobody reads what it says.
  std::signal(SIGPIPE, SIG_IGN);
  unsetenv("TUNE_ASKS_FOR");  // What a trial runs asks for nobody (tuner/control/asker.h).
  tune::WorkerOptions options;
  double cpus = -1;
  CLI::App app("Runs trials for a tuner until the tuner ends, or SIGTERM.", "tune worker");
  app.footer(
      "Example:\n  tune worker --connect tuner.example.org:7443 --join tune1_... --cpus 4 --gpus "
      "1");
  app.set_version_flag("--version", tune::kProgramVersion);
  tune::AddWorkerOptions(app, options, cpus);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "tune worker: " << error.what() << " (tune worker --help)\n";
    return 2;
  }
  HideToken(argc, argv);
  options.local_secret = tune::TakeFromEnvironment(kLocalSecretVariable);
  const std::string join = tune::TakeFromEnvironment(kJoinVariable);
  if (options.join.empty() && !options.is_local) options.join = join;
  if (cpus >= 0) options.cpu_milli = std::llround(cpus * tune::kWholeMilli);
  return tune::RunWorker(options);
}
