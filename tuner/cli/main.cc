// tune: the command line. Each subcommand fills an options struct and calls one function; nothing
// is decided here.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "tuner/cli/run_command.h"

namespace {

namespace fs = std::filesystem;

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

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

}  // namespace

int main(int argc, char** argv) {
  const std::string program_dir = ProgramDir();
  if (argc > 1 && std::string(argv[1]) == "worker") return BecomeWorker(program_dir, argc, argv);

  CLI::App app{"tune: finds good hyperparameters. Example: tune run space.yaml --samples 16",
               "tune"};
  app.set_version_flag("--version", std::string("tune ") + TUNE_VERSION);
  app.require_subcommand(1);
  std::string db_path = EnvironmentOr("TUNE_DB", "tune.db");
  app.add_option("--db", db_path, "The database (or TUNE_DB)")->capture_default_str();
  app.fallthrough();

  tune::RunOptions run;
  CLI::App* const run_app = app.add_subcommand(
      "run",
      "Runs a sweep.\nExample: tune run space.yaml --samples 16 --set scheduler.asha.max_t=10");
  run_app->add_option("space", run.space_path, "The space file (YAML or JSON)")->required();
  run_app->add_option("--samples", run.samples, "How many trials; overrides the file");
  run_app->add_option("--name", run.name, "The sweep's name; default: the file's");
  run_app->add_option("--seed", run.seed, "The seed; default: the file's, else drawn and printed");
  run_app->add_option("--max-concurrent", run.max_concurrent, "Trials at a time");
  run_app->add_option("--set", run.overrides, "key.path=value, as if written in the file")
      ->allow_extra_args(false);
  run_app->add_option("--cpus", run.cpus,
                      "CPUs that the local worker offers; default: this machine's");
  run_app->add_option("--gpus", run.gpus,
                      "GPUs that the local worker offers; logical ones where there is none");
  run_app->add_option("--listen", run.listen,
                      "HOST:PORT for other workers; loopback only in this version");
  run_app->add_flag("--dry-run", run.dry_run, "Checks everything, starts and writes nothing");

  tune::ResumeOptions resume;
  CLI::App* const resume_app = app.add_subcommand(
      "resume", "Goes on with an interrupted sweep.\nExample: tune resume food11");
  resume_app->add_option("name", resume.name, "The sweep; default: the latest unfinished one");
  resume_app->add_option("--samples", resume.samples, "The new total of trials");
  resume_app->add_option("--cpus", resume.cpus, "As for run");
  resume_app->add_option("--gpus", resume.gpus, "As for run");
  resume_app->add_option("--listen", resume.listen, "As for run");

  app.add_subcommand("worker",
                     "Joins a tuner.\nExample: tune worker --connect 127.0.0.1:7000 --cpus 4")
      ->allow_extras();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "tune: " << error.what() << " (tune --help shows the commands)\n";
    return 2;
  }

  if (run_app->parsed()) {
    run.db_path = db_path;
    run.program_dir = program_dir;
    run.command_line = CommandLine(argc, argv);
    run.data_dir = EnvironmentOr("FOOD11_DATA_DIR", "");
    return tune::RunCommand(run);
  }
  if (resume_app->parsed()) {
    resume.db_path = db_path;
    resume.program_dir = program_dir;
    resume.command_line = CommandLine(argc, argv);
    return tune::ResumeCommand(resume);
  }
  return 2;
}
