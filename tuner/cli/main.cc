// tune: the command line. `report` and `worker` are other programs; of the rest each subcommand
// fills an options struct and calls one function (commands.h).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "core/posix/environment.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/report_command.h"

namespace {

namespace fs = std::filesystem;

// The folder of this program: the others are beside it.
std::string ProgramDir() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::string CommandLine(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i > 0 ? " " : "") + std::string(argv[i]);
  return line;
}

// Becomes tune_worker with the arguments after "worker".
int BecomeWorker(const std::string& program_dir, int argc, char** argv) {
  const std::string program = program_dir + "/tune_worker";
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (int i = 2; i < argc; ++i) arguments.push_back(argv[i]);
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::cerr << "tune: cannot start " << program << "; it must be beside tune\n";
  return 1;
}

int MustStandFirst(const tune::Invocation&) {
  std::cerr << "tune: report and worker stand first, before all options\n";
  return 2;
}

// CLI11 says of a mistyped command only that one is needed.
std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  if (!app.get_subcommands().empty() || rest.empty()) return error.what();
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands({}))
    names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "there is no command '" + rest[0] + "'" + tune::DidYouMean(rest[0], known);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string program_dir = ProgramDir();
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "report") {
    return tune::ReportCommand({argv + 2, argv + argc}, tune::EnvironmentText("TUNE_SOCKET"),
                               std::cout, std::cerr);
  }
  if (first == "worker") return BecomeWorker(program_dir, argc, argv);

  CLI::App app{"tune: finds good hyperparameters. Example: tune run space.yaml --samples 16",
               "tune"};
  app.set_version_flag("--version", std::string("tune ") + TUNE_VERSION);
  app.require_subcommand(1);
  std::string db_path = tune::EnvironmentText("TUNE_DB");
  if (db_path.empty()) db_path = "tune.db";
  app.add_option("--db", db_path, "The database (or TUNE_DB)")->capture_default_str();
  app.fallthrough();

  tune::Commands commands(app);
  tune::AddSweepCommands(commands);
  tune::AddAnswerCommands(commands);
  tune::AddPlanCommands(commands);
  tune::AddLineCommands(commands);
  tune::AddUpkeepCommands(commands);
  // Both were caught above; they stand here for --help, and where an option stands before them.
  commands.Bind(app.add_subcommand("report",
                                   "From within a trial: how it is doing.\n"
                                   "Example: tune report val_loss=0.31")
                    ->allow_extras(),
                MustStandFirst);
  commands.Bind(app.add_subcommand("worker",
                                   "Joins a tuner.\nExample: tune worker --connect "
                                   "tuner.example.org:7443 --join tune1_... --cpus 4")
                    ->allow_extras(),
                MustStandFirst);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "tune: " << WhatIsWrong(app, error) << " (tune --help shows the commands)\n";
    return 2;
  }

  if (db_path.empty()) {
    std::cerr << "tune: --db: read '', expected the path of a file such as tune.db\n";
    return 2;
  }
  return commands.Run({db_path, program_dir, CommandLine(argc, argv)});
}
