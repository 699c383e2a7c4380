// The commands that answer questions of a database.

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/head/job_commands.h"
#include "tuner/cli/head/ui_command.h"
#include "tuner/cli/keep/export_command.h"
#include "tuner/cli/keep/files_command.h"
#include "tuner/cli/look/best_command.h"
#include "tuner/cli/look/best_export.h"
#include "tuner/cli/look/compare_command.h"
#include "tuner/cli/look/importance_command.h"
#include "tuner/cli/look/list_command.h"
#include "tuner/cli/look/logs_command.h"
#include "tuner/cli/look/plot_command.h"
#include "tuner/cli/look/results_command.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/look/why_command.h"
#include "tuner/page/sweep_charts.h"

namespace tune {
namespace {

void AddStatus(Commands& commands) {
  const auto [command, status] =
      commands.Add<StatusOptions>("status", "One sweep at a glance.\nExample: tune status --watch");
  command->add_option("name", status->name, "The sweep; default: the latest")->type_name("NAME");
  command->add_flag("--watch", status->watch, "Shows it again until the sweep has ended");
  AddFormat(command, status->format);
  commands.Bind(command, [status = status](const Invocation& invocation) {
    status->db_path = invocation.db_path;
    status->width = OutputWidth();
    const std::string term = EnvironmentText("TERM");
    if (status->width > 0) status->palette = PaletteFor(term, EnvironmentText("NO_COLOR"));
    if (status->width > 0 && CanMoveCursor(term)) {
      status->terminal_size = [] { return SizeOfTerminal(STDOUT_FILENO); };
    }
    return Answered(StatusCommand(*status, RealClock(), Wait, std::cout, std::cerr));
  });
}

void AddList(Commands& commands) {
  const auto [command, list] = commands.Add<ListOptions>(
      "list", "All sweeps of the database.\nExample: tune list --format json");
  command->add_flag("--names", list->names, "Their names alone, one a line");
  AddTagFilter(command, list->tags);
  AddFormat(command, list->format);
  commands.Bind(command, [list = list](const Invocation& invocation) {
    list->db_path = invocation.db_path;
    list->width = OutputWidth();
    return Answered(ListCommand(*list, RealClock(), std::cout, std::cerr));
  });
}

void AddUi(Commands& commands) {
  const auto [command, ui] = commands.Add<UiOptions>(
      "ui",
      "A page of all sweeps of the database, in the browser: curves, trials, why each ended. It "
      "follows what runs, and changes nothing without --act.\nExample: tune ui --open");
  AddPagePlace(command, ui->place);
  command->add_flag("--act", ui->act, "Sweeps that run can be paused, stopped and set by it, too");
  command->add_flag("--open", ui->open, "Opens it in the desktop's browser");
  command
      ->add_option("--key-file", ui->key_path,
                   "Holds the key, for programs such as Prometheus; made where it is not there")
      ->type_name("FILE");
  commands.Bind(command, [ui = ui](const Invocation& invocation) {
    ui->db_path = invocation.db_path;
    ui->program_dir = invocation.program_dir;
    ui->is_terminal = OutputWidth() > 0;
    ui->again = [db_path = ui->db_path](const AgainOptions& again) {
      return SubmitAgain(db_path, again, RealClock());
    };
    return Answered(UiCommand(*ui, std::cout, std::cerr));
  });
}

void AddResults(Commands& commands) {
  const auto [command, results] = commands.Add<ResultsOptions>(
      "results",
      "Trials and their parameters, the best first; with repeat the configurations, by the means "
      "of their runs. CSV and JSON have all columns and are ordered "
      "by number.\n"
      "Example: tune results --top 5\n"
      "Example: tune results food11 --where 'iterations > 4' --columns number,lr,val_loss\n"
      "Example: tune results food11 --sql 'select number, best_value from trials where experiment "
      "= :experiment'");
  command->add_option("name", results->name, "The sweep; default: the latest")->type_name("NAME");
  command->add_flag("--best", results->best,
                    "The best trial alone; of several objectives the Pareto front");
  command
      ->add_option_function<std::string>(
          "--by",
          [results = results.get()](const std::string& rows) {
            results->rows = rows == "run" ? ResultRows::kRuns : ResultRows::kConfigurations;
          },
          "With repeat: a row for each run, or for each configuration with the mean of its runs")
      ->type_name("run|configuration")
      ->check(CLI::IsMember({"run", "configuration"}));
  command->add_option("--top", results->top, "The N best trials")
      ->type_name("N")
      ->check(IntegerFrom(1));
  command->add_option("--limit", results->limit, "At most N rows")
      ->type_name("N")
      ->check(IntegerFrom(1));
  command
      ->add_option("--columns", results->columns,
                   "The columns to show, such as number,best_value,lr")
      ->type_name("COLUMNS");
  command->add_flag("--all", results->all, "All columns");
  command->add_flag("--course", results->course,
                    "How the best value, or of several metrics the hypervolume of the front, rose "
                    "as trials ended");
  command->add_flag("--with-failed", results->with_failed,
                    "Lets trials that failed be among the best");
  command->add_option("--sort", results->sort, "A column; -COL is descending")->type_name("COLUMN");
  command->add_option("--where", results->where, "An SQL expression over the columns")
      ->type_name("SQL");
  command
      ->add_option("--sql", results->sql,
                   "A whole read-only query over the database's views; :experiment is the "
                   "sweep's id")
      ->type_name("SQL");
  AddFormat(command, results->format);
  commands.Bind(command, [results = results](const Invocation& invocation) {
    results->db_path = invocation.db_path;
    results->width = OutputWidth();
    return Answered(ResultsCommand(*results, std::cout, std::cerr));
  });
}

void AddBest(Commands& commands) {
  const auto [command, best] = commands.Add<BestOptions>(
      "best",
      "The best trial, to use it; with repeat the best run of the configuration with the best "
      "mean.\nExample: tune best food11 --export best-model");
  command->add_option("name", best->name, "The sweep; default: the latest")->type_name("NAME");
  command->add_option("--export", best->export_dir, "A folder for its weights and configuration")
      ->type_name("DIR");
  command->add_flag("--with-failed", best->with_failed, "A trial that failed may be the best");
  command->add_flag("--expected", best->by_expectation,
                    "By what is expected of each configuration, and not by the luckiest result");
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
      ->type_name("csv|jsonl|tensorboard|optuna|mlflow")
      ->required();
  commands.Bind(command, [exported = exported](const Invocation& invocation) {
    exported->db_path = invocation.db_path;
    return ExportCommand(*exported, std::cerr);
  });
}

void AddImportance(Commands& commands) {
  const auto [command, importance] = commands.Add<ImportanceOptions>(
      "importance",
      "Which parameters mattered.\n"
      "A share is the part of the metric's variance over the space that is due to the parameter,\n"
      "alone and with others, by a forest grown on the trials.\n"
      "Example: tune importance food11\n"
      "Example: tune importance food11 --metric epoch_seconds --mode min --format csv");
  command->add_option("name", importance->name, "The sweep; default: the latest")
      ->type_name("NAME");
  command->add_option("--metric", importance->metric, "Another metric than the sweep's")
      ->type_name("METRIC");
  command->add_option("--mode", importance->mode, "Its direction")
      ->type_name("min|max")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Mode>{{"min", Mode::kMin}, {"max", Mode::kMax}}));
  AddFormat(command, importance->format);
  commands.Bind(command, [importance = importance](const Invocation& invocation) {
    importance->db_path = invocation.db_path;
    importance->width = OutputWidth();
    return Answered(ImportanceCommand(*importance, std::cout, std::cerr));
  });
}

void AddPlot(Commands& commands) {
  const auto [command, plot] = commands.Add<PlotOptions>(
      "plot",
      "Draws a sweep in the terminal, or as an SVG file: learning curves, the best value over "
      "time, "
      "parallel coordinates, importance, the metric over a parameter.\n"
      "Example: tune plot curves\nExample: tune plot food11 slice lr --svg lr.svg");
  command
      ->add_option("chart", plot->words,
                   "[NAME] and the chart; for slice its parameter. Default: the latest sweep")
      ->type_name(kChartNames)
      ->required()
      ->expected(1, 3);
  command->add_flag("--ascii", plot->form.is_ascii, "Plain letters in place of dots");
  command->add_option("--svg", plot->svg_path, "A file to write, in place of the terminal")
      ->type_name("FILE");
  commands.Bind(command, [plot = plot](const Invocation& invocation) {
    plot->db_path = invocation.db_path;
    if (OutputWidth() > 0) {
      const TerminalSize size = SizeOfTerminal(STDOUT_FILENO);
      plot->form.width = size.width;
      plot->form.height = std::min<size_t>(size.height > 2 ? size.height - 2 : 1, 40);
      plot->form.palette = PaletteFor(EnvironmentText("TERM"), EnvironmentText("NO_COLOR"));
    }
    return Answered(PlotCommand(*plot, std::cout, std::cerr));
  });
}

void AddCompare(Commands& commands) {
  const auto [command, compare] = commands.Add<CompareOptions>(
      "compare",
      "What is different between trials: status, values, iterations, parameters, metrics.\n"
      "Example: tune compare 3 7\nExample: tune compare food11 3 7 12");
  command
      ->add_option("trials", compare->words,
                   "Numbers in the latest sweep, NAME/NUMBER, or NAME before its numbers")
      ->type_name("TRIAL")
      ->required();
  AddFormat(command, compare->format);
  commands.Bind(command, [compare = compare](const Invocation& invocation) {
    compare->db_path = invocation.db_path;
    compare->width = OutputWidth();
    return Answered(CompareCommand(*compare, std::cout, std::cerr));
  });
}

void AddWhy(Commands& commands) {
  const auto [command, why] = commands.Add<WhyOptions>(
      "why",
      "Why a trial is where it is: its decisions and its attempts.\nExample: "
      "tune why 3\nExample: tune why food11/3 --format json");
  AddTrial(command, why->trial);
  AddFormat(command, why->format);
  commands.Bind(command, [why = why](const Invocation& invocation) {
    why->db_path = invocation.db_path;
    why->width = OutputWidth();
    return Answered(WhyCommand(*why, std::cout, std::cerr));
  });
}

void AddLogs(Commands& commands) {
  const auto [command, logs] = commands.Add<LogsOptions>(
      "logs",
      "What a trial printed.\nExample: tune logs 3\nExample: tune logs food11/3 -f\nExample: tune "
      "logs 3 --rank 1");
  AddTrial(command, logs->trial);
  command->add_flag("-f,--follow", logs->follow, "Goes on until the trial ends");
  command->add_option("--rank", logs->rank, "Of a trial of several ranks: which one's; default: 0")
      ->type_name("R")
      ->check(CLI::NonNegativeNumber);
  const auto passes_on = std::make_shared<bool>(false);
  command->add_flag("--exit-status", *passes_on, "With -f: ends as the program of a job did");
  commands.Bind(command, [logs = logs, passes_on](const Invocation& invocation) {
    logs->db_path = invocation.db_path;
    if (logs->follow && (logs->rank == 0 || *passes_on) && NamesJob(logs->db_path, logs->trial)) {
      const int ended =
          FollowJob(logs->db_path, logs->trial, RealClock(), WaitForCtrlC, std::cout, std::cerr);
      return Answered(ended == kExitLeft || *passes_on ? ended : 0);
    }
    if (*passes_on) {
      std::cerr << "tune: --exit-status: is for following a job: tune logs JOB -f --exit-status\n";
      return Answered(2);
    }
    return Answered(LogsCommand(*logs, Wait, std::cout, std::cerr));
  });
}

void AddFiles(Commands& commands) {
  const auto [command, files] = commands.Add<FilesOptions>(
      "files",
      "What a trial's program wrote into its folder ($TUNE_DIR), beside logs and checkpoints.\n"
      "Example: tune files food11/3\nExample: tune files 3 --export plots");
  AddTrial(command, files->trial);
  command->add_option("--export", files->export_dir, "Copies them into this folder, which is made")
      ->type_name("DIR");
  AddFormat(command, files->format);
  commands.Bind(command, [files = files](const Invocation& invocation) {
    files->db_path = invocation.db_path;
    files->width = OutputWidth();
    return Answered(FilesCommand(*files, std::cout, std::cerr));
  });
}

}  // namespace

void AddAnswerCommands(Commands& commands) {
  AddStatus(commands);
  AddList(commands);
  AddUi(commands);
  AddResults(commands);
  AddBest(commands);
  AddExport(commands);
  AddImportance(commands);
  AddPlot(commands);
  AddCompare(commands);
  AddWhy(commands);
  AddLogs(commands);
  AddFiles(commands);
}

}  // namespace tune
