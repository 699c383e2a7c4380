// tune: the command line. Each subcommand fills an options struct and calls one function; nothing
// is decided here.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/attach_command.h"
#include "tuner/cli/backup_command.h"
#include "tuner/cli/best_command.h"
#include "tuner/cli/best_export.h"
#include "tuner/cli/control_command.h"
#include "tuner/cli/delete_command.h"
#include "tuner/cli/doctor_command.h"
#include "tuner/cli/export_command.h"
#include "tuner/cli/gc_command.h"
#include "tuner/cli/import_command.h"
#include "tuner/cli/importance_command.h"
#include "tuner/cli/lines_command.h"
#include "tuner/cli/list_command.h"
#include "tuner/cli/listening.h"
#include "tuner/cli/logs_command.h"
#include "tuner/cli/plan_command.h"
#include "tuner/cli/report_command.h"
#include "tuner/cli/results_command.h"
#include "tuner/cli/retrain_command.h"
#include "tuner/cli/run_command.h"
#include "tuner/cli/simulate_command.h"
#include "tuner/cli/status_command.h"
#include "tuner/cli/sweep.h"
#include "tuner/cli/tokens_command.h"
#include "tuner/cli/why_command.h"

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

// The terminal's width if standard output is one, else 0.
size_t OutputWidth() {
  winsize window{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

// Ctrl-C ends the program in the midst of it, as it should.
bool Wait(tune::Duration duration) {
  poll(nullptr, 0, static_cast<int>(duration.us / 1000));
  return true;
}

// Waits; false as soon as Ctrl-C is pressed, which ends nothing else. For one thread alone.
bool WaitForCtrlC(tune::Duration duration) {
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, nullptr);
  const timespec time{static_cast<time_t>(duration.us / 1'000'000),
                      static_cast<long>(duration.us % 1'000'000 * 1'000)};
  return sigtimedwait(&interrupt, nullptr, &time) != SIGINT;
}

// --format of the commands that answer.
void AddFormat(CLI::App* app, tune::OutputFormat& format) {
  app->add_option_function<std::string>(
         "--format",
         [&format](const std::string& name) {
           const auto parsed = tune::ParseOutputFormat(name);
           if (!parsed.ok()) throw CLI::ValidationError("--format", parsed.status().message());
           format = *parsed;
         },
         "table, csv or json")
      ->default_str("table");
}

// --token-expires of the commands that make tokens.
void AddTokenExpires(CLI::App* app, tune::Duration& validity) {
  validity = tune::kTokenValidity;
  app->add_option_function<std::string>(
         "--token-expires",
         [&validity](const std::string& text) {
           const auto parsed = tune::ParseDuration(text);
           if (!parsed.ok())
             throw CLI::ValidationError("--token-expires", parsed.status().message());
           if (parsed->us == 0 || *parsed > tune::kTokenValidityMax) {
             throw CLI::ValidationError("--token-expires",
                                        "read " + text + ", expected more than 0 up to 3650d");
           }
           validity = *parsed;
         },
         "How long the printed token can be used to join, such as 12h")
      ->default_str("30d");
}

// pause, unpause, stop and set.
void AddControl(CLI::App& app, tune::ControlOptions& control) {
  using tune::ControlVerb;
  const auto add = [&](ControlVerb verb, const std::string& about) {
    CLI::App* const command = app.add_subcommand(tune::ControlVerbName(verb), about);
    command->parse_complete_callback([&control, verb] { control.verb = verb; });
    return command;
  };
  CLI::App* const pause =
      add(ControlVerb::kPause,
          "Pauses a sweep, or one trial of it, at the next checkpoint; tune unpause goes on.\n"
          "Example: tune pause food11 --trial 3");
  CLI::App* const unpause = add(
      ControlVerb::kUnpause, "Goes on with what tune pause paused.\nExample: tune unpause food11");
  CLI::App* const stop =
      add(ControlVerb::kStop,
          "Ends a sweep, or one trial of it, at the next report; what ended stays ended.\n"
          "Example: tune stop food11 --now");
  for (CLI::App* const command : {pause, unpause, stop}) {
    command->add_option("name", control.name,
                        "The sweep; default: the one that runs, or the latest");
    command->add_option("--trial", control.trial, "One trial alone, by its number");
  }
  for (CLI::App* const command : {pause, stop}) {
    command->add_flag("--now", control.now, "Without waiting for the next report");
  }
  add(ControlVerb::kSet,
      "Changes a sweep that goes on: max_concurrent, the trials at a time.\n"
      "Example: tune set food11 max_concurrent=4")
      ->add_option("arguments", control.arguments, "[NAME] max_concurrent=N")
      ->required();
}

// simulate.
CLI::App* AddSimulate(CLI::App& app, tune::SimulateOptions& simulate) {
  CLI::App* const command = app.add_subcommand(
      "simulate",
      "A whole sweep in virtual time, over recorded learning curves or the space's curve formula.\n"
      "Example: tune simulate space.yaml --curves tune.db:food11 --workers 8 --compare asha,fifo");
  command->add_option("space", simulate.space_path, "The space file")->required();
  command->add_option("--curves", simulate.curves,
                      "A CSV file with a line a report, or the database of an earlier sweep, also "
                      "as tune.db:NAME");
  command->add_option("--workers", simulate.workers, "How many workers")->required();
  command->add_option("--cpus", simulate.cpus, "CPUs of each worker; default: as one trial needs");
  command->add_option("--gpus", simulate.gpus, "GPUs of each worker; default: as one trial needs");
  command->add_option("--samples", simulate.samples, "As for run");
  command->add_option("--seed", simulate.seed, "As for run; default: the file's, else 0");
  command->add_option("--seeds", simulate.seeds, "Plays it with so many seeds, from --seed on")
      ->capture_default_str();
  command->add_option("--set", simulate.overrides, "As for run")->allow_extra_args(false);
  command
      ->add_option("--compare", simulate.compare,
                   "Schedulers by name, to be put side by side: asha,fifo")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--scheduler", simulate.schedulers,
                   "One more to compare, as in the space file: '{asha: {max_t: 9}}'")
      ->allow_extra_args(false);
  AddFormat(command, simulate.format);
  return command;
}

// CLI11 would take a negative number for a very large one, and speaks of doubles.
auto IntegerFrom(int64_t min) {
  return [min](const std::string& text) -> std::string {
    int64_t read = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, read);
    if (error == std::errc() && stop == end && read >= min) return "";
    return "read " + text + ", expected an integer of " + std::to_string(min) + " or more";
  };
}

// retrain.
CLI::App* AddRetrain(CLI::App& app, tune::RetrainOptions& retrain) {
  CLI::App* const command = app.add_subcommand(
      "retrain",
      "The best configurations of a sweep once more, at full length, several runs of each, as a "
      "sweep of its own.\nExample: tune retrain food11 --top 3 --seeds 5");
  command->add_option("name", retrain.name, "The earlier sweep; default: the latest");
  command->add_option("--top", retrain.top, "How many configurations")->capture_default_str();
  command->add_option("--seeds", retrain.seeds, "Runs of each")->capture_default_str();
  command->add_flag("--show", retrain.show, "Only shows what an earlier retrain came to");
  command->add_option("--name", retrain.run.name, "The new sweep's name; default: NAME-retrain");
  command
      ->add_option("--seed", retrain.run.seed, "The new sweep's seed; default: drawn from NAME's")
      ->check(IntegerFrom(0));
  command->add_option("--max-concurrent", retrain.run.max_concurrent, "Trials at a time");
  command->add_option("--cpus", retrain.run.cpus, "As for run")->check(CLI::Range(0, 1'000'000));
  command->add_option("--gpus", retrain.run.gpus, "As for run")->check(CLI::Range(0, 1'024));
  command->add_option("--listen", retrain.run.listen, "As for run");
  AddTokenExpires(command, retrain.run.token_validity);
  command->add_flag("--detach", retrain.run.detach, "As for run");
  command->add_flag("--dry-run", retrain.run.dry_run, "As for run");
  AddFormat(command, retrain.format);
  return command;
}

// An answer that could not be written is none.
int Answered(int exit_status) {
  std::cout.flush();
  if (std::cout) return exit_status;
  std::cerr << "tune: standard output cannot be written; is its disk full?\n";
  return 1;
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

  tune::RunOptions run;
  CLI::App* const run_app = app.add_subcommand(
      "run",
      "Runs a sweep.\nExample: tune run space.yaml --samples 16 --set scheduler.asha.max_t=10");
  run_app->add_option("space", run.space_path, "The space file (YAML or JSON)")->required();
  run_app->add_option("--samples", run.samples, "How many trials; overrides the file");
  run_app->add_option("--name", run.name, "The sweep's name; default: the file's");
  run_app->add_option("--seed", run.seed, "The seed; default: the file's, else drawn and printed")
      ->check(IntegerFrom(0));
  run_app->add_option("--max-concurrent", run.max_concurrent, "Trials at a time");
  run_app->add_option("--set", run.overrides, "key.path=value, as if written in the file")
      ->allow_extra_args(false);
  // As tune_worker takes them.
  const CLI::Range cpu_range(0, 1'000'000);
  const CLI::Range gpu_range(0, 1'024);
  run_app
      ->add_option("--cpus", run.cpus, "CPUs that the local worker offers; default: this machine's")
      ->check(cpu_range);
  run_app
      ->add_option("--gpus", run.gpus,
                   "GPUs that the local worker offers; logical ones where there is none")
      ->check(gpu_range);
  run_app->add_option("--listen", run.listen,
                      "HOST:PORT for workers on other machines, over TLS; prints the line with "
                      "which they join; 0.0.0.0 stands for all addresses, port 0 for any");
  AddTokenExpires(run_app, run.token_validity);
  run_app->add_option("--log", run.log,
                      "tensorboard: event files are written live beside the database");
  run_app->add_flag("--detach", run.detach,
                    "Goes on in the background, also when the terminal closes");
  run_app->add_flag("--dry-run", run.dry_run, "Checks everything, starts and writes nothing");

  tune::ResumeOptions resume;
  CLI::App* const resume_app = app.add_subcommand(
      "resume", "Goes on with an interrupted sweep.\nExample: tune resume food11");
  resume_app->add_option("name", resume.name, "The sweep; default: the latest unfinished one");
  resume_app->add_option("--samples", resume.samples, "The new total of trials");
  resume_app->add_flag("--errored", resume.errored, "Tries the trials that failed once more");
  resume_app->add_option("--space", resume.space_path,
                         "A space file; refused unless it is what the sweep was begun with");
  resume_app->add_option("--set", resume.overrides, "As for run, over --space")
      ->allow_extra_args(false);
  resume_app->add_option("--log", resume.log, "As for run; earlier lives' reports, too");
  resume_app->add_flag("--detach", resume.detach, "As for run");
  resume_app->add_option("--cpus", resume.cpus, "As for run")->check(cpu_range);
  resume_app->add_option("--gpus", resume.gpus, "As for run")->check(gpu_range);
  resume_app->add_option("--listen", resume.listen,
                         "As for run; default: where the sweep listened before; off: nowhere");
  AddTokenExpires(resume_app, resume.token_validity);

  tune::StatusOptions status;
  CLI::App* const status_app =
      app.add_subcommand("status", "One sweep at a glance.\nExample: tune status --watch");
  status_app->add_option("name", status.name, "The sweep; default: the latest");
  status_app->add_flag("--watch", status.watch, "Shows it again until the sweep has ended");
  AddFormat(status_app, status.format);

  tune::AttachOptions attach;
  CLI::App* const attach_app = app.add_subcommand(
      "attach",
      "Watches a sweep that runs elsewhere until it ends; Ctrl-C leaves it running.\n"
      "Example: tune attach food11");
  attach_app->add_option("name", attach.name, "The sweep; default: the one that runs");

  tune::ListOptions list;
  CLI::App* const list_app =
      app.add_subcommand("list", "All sweeps of the database.\nExample: tune list --format json");
  AddFormat(list_app, list.format);

  tune::ResultsOptions results;
  CLI::App* const results_app =
      app.add_subcommand("results",
                         "Trials, parameters and metrics.\nExample: tune results --where "
                         "'iterations > 4' --sort val_loss\n"
                         "Example: tune results --sql 'select number, best_value from trials'");
  results_app->add_option("name", results.name, "The sweep; default: the latest");
  results_app->add_flag("--best", results.best, "The best trial alone");
  results_app->add_option("--sort", results.sort, "A column; -COL is descending");
  results_app->add_option("--where", results.where, "An SQL expression over the columns");
  results_app->add_option("--sql", results.sql,
                          "A whole read-only query over the database's views");
  AddFormat(results_app, results.format);

  tune::BestOptions best;
  CLI::App* const best_app = app.add_subcommand(
      "best", "The best trial, to use it.\nExample: tune best food11 --export best-model");
  best_app->add_option("name", best.name, "The sweep; default: the latest");
  best_app->add_option("--export", best.export_dir, "A folder for its weights and configuration");
  AddFormat(best_app, best.format);

  tune::ExportOptions exported;
  CLI::App* const export_app = app.add_subcommand(
      "export",
      "A sweep for other tools: its trials, their parameters and all their reports.\n"
      "Example: tune export food11 --to tensorboard runs\n"
      "Example: tune export --to csv tables");
  export_app->add_option("arguments", exported.arguments, "[NAME] DIR; default: the latest sweep")
      ->required();
  export_app->add_option("--to", exported.format, "csv, jsonl, tensorboard, optuna or mlflow")
      ->required();

  tune::ImportanceOptions importance;
  CLI::App* const importance_app = app.add_subcommand(
      "importance",
      "Which parameters mattered.\nExample: tune importance food11\n"
      "Example: tune importance food11 --metric epoch_seconds --mode min --format csv");
  importance_app->add_option("name", importance.name, "The sweep; default: the latest");
  importance_app->add_option("--metric", importance.metric, "Another metric than the sweep's");
  importance_app->add_option("--mode", importance.mode, "Its direction")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, tune::Mode>{{"min", tune::Mode::kMin}, {"max", tune::Mode::kMax}}));
  AddFormat(importance_app, importance.format);

  tune::WhyOptions why;
  CLI::App* const why_app =
      app.add_subcommand("why",
                         "Why a trial is where it is: its decisions and its attempts.\nExample: "
                         "tune why 3\nExample: tune why food11/3 --format json");
  why_app->add_option("trial", why.trial, "A number in the latest sweep, or NAME/NUMBER")
      ->required();
  AddFormat(why_app, why.format);

  tune::LogsOptions logs;
  CLI::App* const logs_app = app.add_subcommand(
      "logs", "What a trial printed.\nExample: tune logs 3\nExample: tune logs food11/3 -f");
  logs_app->add_option("trial", logs.trial, "A number in the latest sweep, or NAME/NUMBER")
      ->required();
  logs_app->add_flag("-f,--follow", logs.follow, "Goes on until the trial ends");

  tune::BackupOptions backup;
  CLI::App* const backup_app = app.add_subcommand(
      "backup",
      "A copy of the database and its artifacts, also while a tuner writes.\nExample: tune backup "
      "/backups/monday.db");
  backup_app->add_option("file", backup.file, "The copy; it must not be there yet")->required();

  tune::DeleteOptions doomed;
  CLI::App* const delete_app = app.add_subcommand(
      "delete", "A sweep with all its rows and artifacts.\nExample: tune delete food11 --yes");
  delete_app->add_option("name", doomed.name, "The sweep")->required();
  delete_app->add_flag("--yes", doomed.yes, "Does not ask");

  tune::DoctorOptions doctor;
  CLI::App* const doctor_app = app.add_subcommand(
      "doctor",
      "Looks at the machine, the disk, the programs and the database.\nExample: tune doctor");
  AddFormat(doctor_app, doctor.format);

  tune::GcOptions gc;
  CLI::App* const gc_app = app.add_subcommand(
      "gc",
      "Removes checkpoints and leftovers that nothing needs any more.\nExample: tune gc --dry-run");
  gc_app->add_flag("--dry-run", gc.dry_run, "Only says what would be removed");
  gc_app->add_flag("--vacuum", gc.vacuum, "Packs the database, too (needs room for a copy of it)");
  AddFormat(gc_app, gc.format);
  tune::ControlOptions control;
  AddControl(app, control);

  tune::TokensOptions tokens;
  CLI::App* const tokens_app = app.add_subcommand(
      "tokens",
      "Who may join from other machines.\nExample: tune tokens\nExample: tune tokens --revoke "
      "1f3a9c02");
  tokens_app->add_flag("--new", tokens.make_new, "Makes a token and prints the line to join with");
  tokens_app->add_option("--revoke", tokens.revoke, "The id of a token that is good no more")
      ->excludes("--new");
  AddTokenExpires(tokens_app, tokens.validity);
  AddFormat(tokens_app, tokens.format);

  tune::LinesOptions lines;
  CLI::App* const decide_app =
      app.add_subcommand("decide",
                         "The scheduler alone: reports in, decisions out, as JSON lines.\n"
                         "Example: echo '{\"trial\": \"a\", \"training_iteration\": 1, \"loss\": "
                         "0.5}' | tune decide space.yaml");
  CLI::App* const ask_tell_app =
      app.add_subcommand("ask-tell",
                         "The searcher alone, as JSON lines.\nExample: echo '{\"ask\": 3}' | tune "
                         "ask-tell space.yaml");
  ask_tell_app->add_option("--name", lines.name,
                           "Keeps it as this sweep of the database, and goes on with it");
  CLI::App* const ask_app =
      app.add_subcommand("ask",
                         "The next configurations of a sweep whose trials you run yourself.\n"
                         "Example: tune ask space.yaml --count 2");
  ask_app->add_option("--name", lines.name, "The sweep, in place of the space file's name");
  ask_app->add_option("--count", lines.count, "How many")->capture_default_str();
  tune::TellOptions tell;
  CLI::App* const tell_app = app.add_subcommand(
      "tell",
      "How a trial went that tune ask gave out.\nExample: tune tell 3 0.42\nExample: tune "
      "tell study/3 0.6 --iteration 2");
  tell_app->add_option("trial", tell.trial, "A number in the latest such sweep, or NAME/NUMBER")
      ->required();
  tell_app->add_option("value", tell.values, "Of each metric; NaN or null for none");
  tell_app->add_option("--iteration", tell.iteration, "An intermediate value; the trial goes on")
      ->check(IntegerFrom(1));
  tell_app->add_flag("--failed", tell.failed, "It has failed");
  for (CLI::App* const lines_app : {decide_app, ask_tell_app, ask_app}) {
    lines_app->add_option("space", lines.space_path, "The space file")->required();
    lines_app->add_option("--set", lines.overrides, "As for run")->allow_extra_args(false);
  }

  tune::PlanOptions plan;
  CLI::App* const plan_app = app.add_subcommand(
      "plan",
      "What would run: trials, rungs, epochs, how many at a time; runs nothing.\n"
      "Example: tune plan space.yaml --cpus 8 --gpus 2");
  plan_app->add_option("space", plan.space_path, "The space file")->required();
  plan_app->add_option("--samples", plan.samples, "As for run");
  plan_app->add_option("--set", plan.overrides, "As for run")->allow_extra_args(false);
  plan.cpus = tune::AvailableCpus();
  plan_app->add_option("--cpus", plan.cpus, "As for run")->check(cpu_range);
  plan_app->add_option("--gpus", plan.gpus, "As for run")->check(gpu_range);
  AddFormat(plan_app, plan.format);

  tune::RetrainOptions retrain;
  const CLI::App* const retrain_app = AddRetrain(app, retrain);

  tune::SimulateOptions simulate;
  const CLI::App* const simulate_app = AddSimulate(app, simulate);

  tune::ImportOptions import;
  CLI::App* const import_app = app.add_subcommand(
      "import",
      "A space file from AutoTuner's configuration.\nExample: tune import autotuner.json --out "
      "space.yaml");
  import_app->add_option("file", import.path, "AutoTuner's JSON")->required();
  import_app->add_option("--out", import.out, "The space file; default: standard output");

  app.add_subcommand("report",
                     "From within a trial: how it is doing.\nExample: tune report val_loss=0.31");
  app.add_subcommand("worker",
                     "Joins a tuner.\nExample: tune worker --connect tuner.example.org:7443 "
                     "--join tune1_... --cpus 4")
      ->allow_extras();

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
  // A sweep does not end because nobody reads what it says.
  if (run_app->parsed() || resume_app->parsed() || retrain_app->parsed()) {
    signal(SIGPIPE, SIG_IGN);
  }
  if (run_app->parsed()) {
    run.db_path = db_path;
    run.program_dir = program_dir;
    run.command_line = CommandLine(argc, argv);
    run.data_dir = tune::EnvironmentText("FOOD11_DATA_DIR");
    return tune::RunCommand(run);
  }
  if (resume_app->parsed()) {
    resume.db_path = db_path;
    resume.program_dir = program_dir;
    resume.command_line = CommandLine(argc, argv);
    resume.data_dir = tune::EnvironmentText("FOOD11_DATA_DIR");
    return tune::ResumeCommand(resume);
  }
  if (retrain_app->parsed()) {
    retrain.run.db_path = db_path;
    retrain.run.program_dir = program_dir;
    retrain.run.command_line = CommandLine(argc, argv);
    retrain.run.data_dir = tune::EnvironmentText("FOOD11_DATA_DIR");
    retrain.width = OutputWidth();
    return Answered(tune::RetrainCommand(retrain, std::cout, std::cerr));
  }
  if (decide_app->parsed()) return tune::DecideCommand(lines);
  lines.db_path = db_path;
  lines.command_line = CommandLine(argc, argv);
  if (ask_tell_app->parsed()) return tune::AskTellCommand(lines);
  if (ask_app->parsed()) return tune::AskCommand(lines);
  if (tell_app->parsed()) {
    tell.db_path = db_path;
    return tune::TellCommand(tell);
  }

  for (const CLI::App* const parsed : app.get_subcommands()) {
    if (parsed->get_name() != tune::ControlVerbName(control.verb)) continue;
    control.db_path = db_path;
    return Answered(tune::ControlCommand(control, tune::RealClock(), Wait, std::cout, std::cerr));
  }

  if (import_app->parsed()) {
    const tune::Status imported = tune::ImportCommand(import, std::cout, std::cerr);
    if (imported.ok()) return Answered(0);
    std::cerr << "tune: " << imported.message() << "\n";
    return 2;
  }

  const size_t width = OutputWidth();
  if (status_app->parsed()) {
    status.db_path = db_path;
    status.width = width;
    status.is_terminal = width > 0;
    return Answered(tune::StatusCommand(status, tune::RealClock(), Wait, std::cout, std::cerr));
  }
  if (attach_app->parsed()) {
    attach.db_path = db_path;
    tune::LiveScreen screen;
    return Answered(
        tune::AttachCommand(attach, tune::RealClock(), WaitForCtrlC, screen, std::cout, std::cerr));
  }
  if (list_app->parsed()) {
    list.db_path = db_path;
    list.width = width;
    return Answered(tune::ListCommand(list, std::cout, std::cerr));
  }
  if (plan_app->parsed()) {
    plan.width = width;
    return Answered(tune::PlanCommand(plan, std::cout, std::cerr));
  }
  if (simulate_app->parsed()) {
    simulate.width = width;
    return Answered(tune::SimulateCommand(simulate, tune::RealClock(), std::cout, std::cerr));
  }
  if (results_app->parsed()) {
    results.db_path = db_path;
    results.width = width;
    return Answered(tune::ResultsCommand(results, std::cout, std::cerr));
  }
  if (tokens_app->parsed()) {
    tokens.db_path = db_path;
    tokens.width = width;
    const tune::Instant now = tune::RealClock().Now();
    return Answered(tune::TokensCommand(tokens, now, std::cout, std::cerr));
  }
  if (best_app->parsed()) {
    best.db_path = db_path;
    best.width = width;
    return Answered(tune::BestCommand(best, tune::ExportFood11, std::cout, std::cerr));
  }
  if (export_app->parsed()) {
    exported.db_path = db_path;
    return tune::ExportCommand(exported, std::cerr);
  }
  if (importance_app->parsed()) {
    importance.db_path = db_path;
    importance.width = width;
    return Answered(tune::ImportanceCommand(importance, std::cout, std::cerr));
  }
  if (why_app->parsed()) {
    why.db_path = db_path;
    why.width = width;
    return Answered(tune::WhyCommand(why, std::cout, std::cerr));
  }
  if (logs_app->parsed()) {
    logs.db_path = db_path;
    return Answered(tune::LogsCommand(logs, Wait, std::cout, std::cerr));
  }
  if (backup_app->parsed()) {
    backup.db_path = db_path;
    return Answered(tune::BackupCommand(backup, std::cout, std::cerr));
  }
  if (delete_app->parsed()) {
    doomed.db_path = db_path;
    doomed.is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
    return Answered(tune::DeleteCommand(doomed, tune::RealClock(), std::cin, std::cout, std::cerr));
  }
  if (doctor_app->parsed()) {
    doctor.db_path = db_path;
    doctor.program_dir = program_dir;
    doctor.version = TUNE_VERSION;
    doctor.width = width;
    return Answered(tune::DoctorCommand(doctor, tune::RealClock(), std::cout, std::cerr));
  }
  if (gc_app->parsed()) {
    gc.db_path = db_path;
    gc.width = width;
    return Answered(tune::GcCommand(gc, tune::RealClock(), std::cout, std::cerr));
  }
  return 2;
}
