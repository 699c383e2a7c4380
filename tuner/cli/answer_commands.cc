// The commands that answer questions of a database.

#include <iostream>
#include <map>

#include "core/posix/real_clock.h"
#include "tuner/cli/best_command.h"
#include "tuner/cli/best_export.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/export_command.h"
#include "tuner/cli/importance_command.h"
#include "tuner/cli/list_command.h"
#include "tuner/cli/logs_command.h"
#include "tuner/cli/results_command.h"
#include "tuner/cli/status_command.h"
#include "tuner/cli/why_command.h"

namespace tune {
namespace {

void AddStatus(Commands& commands) {
  const auto [command, status] =
      commands.Add<StatusOptions>("status", "One sweep at a glance.\nExample: tune status --watch");
  command->add_option("name", status->name, "The sweep; default: the latest");
  command->add_flag("--watch", status->watch, "Shows it again until the sweep has ended");
  AddFormat(command, status->format);
  commands.Bind(command, [status = status](const Invocation& invocation) {
    status->db_path = invocation.db_path;
    status->width = OutputWidth();
    status->is_terminal = status->width > 0;
    return Answered(StatusCommand(*status, RealClock(), Wait, std::cout, std::cerr));
  });
}

void AddList(Commands& commands) {
  const auto [command, list] = commands.Add<ListOptions>(
      "list", "All sweeps of the database.\nExample: tune list --format json");
  AddFormat(command, list->format);
  commands.Bind(command, [list = list](const Invocation& invocation) {
    list->db_path = invocation.db_path;
    list->width = OutputWidth();
    return Answered(ListCommand(*list, std::cout, std::cerr));
  });
}

void AddResults(Commands& commands) {
  const auto [command, results] = commands.Add<ResultsOptions>(
      "results",
      "Trials, parameters and metrics.\nExample: tune results --where "
      "'iterations > 4' --sort val_loss\n"
      "Example: tune results --sql 'select number, best_value from trials'");
  command->add_option("name", results->name, "The sweep; default: the latest");
  command->add_flag("--best", results->best, "The best trial alone");
  command->add_option("--sort", results->sort, "A column; -COL is descending");
  command->add_option("--where", results->where, "An SQL expression over the columns");
  command->add_option("--sql", results->sql, "A whole read-only query over the database's views");
  AddFormat(command, results->format);
  commands.Bind(command, [results = results](const Invocation& invocation) {
    results->db_path = invocation.db_path;
    results->width = OutputWidth();
    return Answered(ResultsCommand(*results, std::cout, std::cerr));
  });
}

void AddBest(Commands& commands) {
  const auto [command, best] = commands.Add<BestOptions>(
      "best", "The best trial, to use it.\nExample: tune best food11 --export best-model");
  command->add_option("name", best->name, "The sweep; default: the latest");
  command->add_option("--export", best->export_dir, "A folder for its weights and configuration");
  AddFormat(command, best->format);
  commands.Bind(command, [best = best](const Invocation& invocation) {
    best->db_path = invocation.db_path;
    best->width = OutputWidth();
    return Answered(BestCommand(*best, ExportFood11, std::cout, std::cerr));
  });
}

void AddExport(Commands& commands) {
  const auto [command, exported] = commands.Add<ExportOptions>(
      "export",
      "A sweep for other tools: its trials, their parameters and all their reports.\n"
      "Example: tune export food11 --to tensorboard runs\n"
      "Example: tune export --to csv tables");
  command->add_option("arguments", exported->arguments, "[NAME] DIR; default: the latest sweep")
      ->required();
  command->add_option("--to", exported->format, "csv, jsonl, tensorboard, optuna or mlflow")
      ->required();
  commands.Bind(command, [exported = exported](const Invocation& invocation) {
    exported->db_path = invocation.db_path;
    return ExportCommand(*exported, std::cerr);
  });
}

void AddImportance(Commands& commands) {
  const auto [command, importance] = commands.Add<ImportanceOptions>(
      "importance",
      "Which parameters mattered.\nExample: tune importance food11\n"
      "Example: tune importance food11 --metric epoch_seconds --mode min --format csv");
  command->add_option("name", importance->name, "The sweep; default: the latest");
  command->add_option("--metric", importance->metric, "Another metric than the sweep's");
  command->add_option("--mode", importance->mode, "Its direction")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Mode>{{"min", Mode::kMin}, {"max", Mode::kMax}}));
  AddFormat(command, importance->format);
  commands.Bind(command, [importance = importance](const Invocation& invocation) {
    importance->db_path = invocation.db_path;
    importance->width = OutputWidth();
    return Answered(ImportanceCommand(*importance, std::cout, std::cerr));
  });
}

void AddWhy(Commands& commands) {
  const auto [command, why] = commands.Add<WhyOptions>(
      "why",
      "Why a trial is where it is: its decisions and its attempts.\nExample: "
      "tune why 3\nExample: tune why food11/3 --format json");
  command->add_option("trial", why->trial, "A number in the latest sweep, or NAME/NUMBER")
      ->required();
  AddFormat(command, why->format);
  commands.Bind(command, [why = why](const Invocation& invocation) {
    why->db_path = invocation.db_path;
    why->width = OutputWidth();
    return Answered(WhyCommand(*why, std::cout, std::cerr));
  });
}

void AddLogs(Commands& commands) {
  const auto [command, logs] = commands.Add<LogsOptions>(
      "logs", "What a trial printed.\nExample: tune logs 3\nExample: tune logs food11/3 -f");
  command->add_option("trial", logs->trial, "A number in the latest sweep, or NAME/NUMBER")
      ->required();
  command->add_flag("-f,--follow", logs->follow, "Goes on until the trial ends");
  commands.Bind(command, [logs = logs](const Invocation& invocation) {
    logs->db_path = invocation.db_path;
    return Answered(LogsCommand(*logs, Wait, std::cout, std::cerr));
  });
}

}  // namespace

void AddAnswerCommands(Commands& commands) {
  AddStatus(commands);
  AddList(commands);
  AddResults(commands);
  AddBest(commands);
  AddExport(commands);
  AddImportance(commands);
  AddWhy(commands);
  AddLogs(commands);
}

}  // namespace tune
