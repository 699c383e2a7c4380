// tune: the command line. `report` and `worker` are other programs; of the rest each subcommand
// fills an options struct and calls one function (commands.h).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "core/posix/environment.h"
#include "core/posix/link_path.h"
#include "core/posix/process_limits.h"
#include "core/posix/real_clock.h"
#include "core/spaced_number.h"
#include "trial_runner/command_text.h"
#include "trial_runner/worker/worker_command_line.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/head/kept_heads.h"
#include "tuner/cli/head/remote_command.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/page_report_command.h"
#include "tuner/cli/run/report_command.h"
#include "tuner/cli/words/command_texts.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/cli/words/version_text.h"

namespace {

namespace fs = std::filesystem;

// The folder of this program: the others are beside it.
std::string ProgramDir() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

// As a shell takes it.
std::string CommandLine(const std::string& program, const std::vector<std::string>& arguments) {
  std::string line = tune::ShellQuoted(program);
  for (const std::string& argument : arguments) line += " " + tune::ShellQuoted(argument);
  return line;
}

int MustStandFirst(const tune::Invocation&) {
  std::cerr << "tune: report and worker stand first, before all options\n";
  return 2;
}

// `report` and `worker` read their own command lines; their options stand here for help, manual
// pages and completions, and where an option of tune's stands before them.
class OtherPrograms {
 public:
  void AddTo(CLI::App& app, tune::Commands& commands) {
    CLI::App* const report = app.add_subcommand(
        "report",
        "Reports from within a trial how it is doing; exit status 10 means that the trial is to "
        "stop. With --html a sweep's page with its data in one file, which needs no server; with "
        "--md "
        "a summary in Markdown, with pictures beside it.\n"
        "Example: tune report val_loss=0.31 --checkpoint \"$TUNE_DIR/model.bin\"\n"
        "Example: tune report food11 --html food11.html\n"
        "Example: tune report food11 --md results/food11.md");
    report
        ->add_option(
            "what", words_,
            "What is reported, such as val_loss=0.31; with --html or --md the sweep, by default "
            "the latest")
        ->type_name("NAME=NUMBER");
    report->add_option("--html", page_.html_path, "Writes the page of a sweep as one file")
        ->type_name("FILE");
    report->add_option("--md", page_.markdown_path, "Writes a summary of a sweep in Markdown")
        ->type_name("FILE");
    report->add_option("--checkpoint", path_, "A file or folder to go on from later")
        ->type_name("FILE");
    report->add_option("--iteration", iteration_, "The training iteration; default: the next one")
        ->type_name("N");
    CLI::App* const worker =
        app.add_subcommand("worker",
                           "Joins a tuner and runs trials for it.\nExample: tune worker --connect "
                           "tuner.example.org:7443 --join tune1_... --cpus 4");
    tune::AddWorkerOptions(*worker, worker_options_, cpus_);
    worker->get_option("--connect")->required(false);  // Another program sees to it.
    commands.Bind(worker->group("Other programs")->allow_extras(), MustStandFirst);
    commands.Bind(report->group("Other programs"), [this](const tune::Invocation& invocation) {
      if (page_.html_path.empty() && page_.markdown_path.empty()) {
        return tune::Answered(MustStandFirst(invocation));
      }
      if (words_.size() > 1) {
        std::cerr << "tune: report --html or --md: read " << words_.size()
                  << " names, expected one sweep\n";
        return tune::Answered(2);
      }
      page_.db_path = invocation.db_path;
      page_.name = words_.empty() ? "" : words_.front();
      return tune::Answered(tune::PageReportCommand(page_, std::cout, std::cerr));
    });
  }

 private:
  std::vector<std::string> words_;
  tune::PageReportOptions page_;
  std::string path_, iteration_;
  tune::WorkerOptions worker_options_;
  double cpus_ = -1;
};

// An argument as CLI11 takes it: a number with a dash stands behind a space, so that "-inf" is not
// taken for the options -i, -n and -f. What reads the number leaves the space out.
std::string AsArgument(const std::string& text) {
  const std::string argument = tune::TrimAroundNumber(text);
  return tune::IsNumberLikeOptions(argument) ? " " + argument : argument;
}

// Of an option that was given more often than it may be CLI11 tells only how often.
std::optional<std::string> GivenTooOften(const CLI::App& app) {
  std::vector<const CLI::App*> said = {&app};
  for (const CLI::App* const command : app.get_subcommands()) said.push_back(command);
  for (const CLI::App* const command : said) {
    for (const CLI::Option* const option : command->get_options()) {
      const bool is_too_often =
          option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
          static_cast<int>(option->count()) > option->get_items_expected_max();
      if (!is_too_often || option->get_positional()) continue;
      std::string read;
      for (const std::string& value : option->results())
        read += (read.empty() ? "'" : ", then '") +
                tune::Printable(value.substr(value.find_first_not_of(' ') == 1 ? 1 : 0)) + "'";
      return option->get_name() + ": read " + read + ", expected it once";
    }
  }
  return std::nullopt;
}

// CLI11 says of a mistyped command only that one is needed.
std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (const std::optional<std::string> said = GivenTooOften(app)) return *said;
  }
  const std::vector<std::string> rest = app.remaining();
  if (!app.get_subcommands().empty() || rest.empty()) return error.what();
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands({}))
    names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  return "there is no command '" + rest[0] + "'" + tune::DidYouMean(rest[0], known);
}

// --db, --head.
void AddPlaces(CLI::App& app, std::string& db_path, std::string& head) {
  db_path = tune::EnvironmentText("TUNE_DB");
  if (db_path.empty()) db_path = "tune.db";
  app.add_option("--db", db_path, "The database (or TUNE_DB)")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--head", head,
                 "A head elsewhere, in place of a database: its address, a file that holds it, or "
                 "the name that tune login has given it (or TUNE_HEAD)")
      ->type_name("ADDRESS");
  app.fallthrough();
}

// Where the command works: on a head elsewhere, or on a database of this machine.
tune::Result<std::optional<tune::HttpPlace>> HeadOf(const CLI::App& app, const std::string& given) {
  const std::string command = app.get_subcommands().front()->get_name();
  const bool has_database = app.get_option("--db")->count() > 0;
  if (app.get_option("--head")->count() > 0) {
    if (has_database) return tune::InvalidArgument("--head, --db: expected one of them");
    auto head = tune::ReadHead(given);
    if (head.ok() && !*head) return tune::InvalidArgument("--head: read '', expected an address");
    return head.ok() ? std::move(head) : head.status().At("--head");
  }
  const std::string set = tune::EnvironmentText("TUNE_HEAD");
  if (set.empty() || has_database || tune::NeedsNoDatabase(command)) {
    return std::optional<tune::HttpPlace>();
  }
  if (!tune::EnvironmentText("TUNE_DB").empty()) {
    return tune::InvalidArgument(
        "TUNE_HEAD and TUNE_DB are both set: unset one of them, or say --head or --db");
  }
  auto head = tune::ReadHead(set);
  return head.ok() ? std::move(head) : head.status().At("TUNE_HEAD");
}

// `arguments`: as they were said. Where they are meant for is left out.
int RunThere(const tune::HttpPlace& head, std::vector<std::string> arguments) {
  for (auto it = arguments.begin(); it != arguments.end() && *it != "--";) {
    const bool is_option = *it == "--head" && it + 1 != arguments.end();
    if (is_option || it->starts_with("--head=")) {
      it = arguments.erase(it, it + (is_option ? 2 : 1));
    } else {
      ++it;
    }
  }
  return tune::Answered(tune::RunRemoteCommand(head, arguments,
                                               static_cast<int>(tune::OutputWidth()),
                                               tune::WaitForCtrlC, std::cout, std::cerr));
}

// "tune help run tells its options"
std::string HelpFor(const CLI::App& app) {
  const std::vector<CLI::App*> said = app.get_subcommands();
  return said.empty() ? "tune help shows the commands"
                      : "tune help " + said.front()->get_name() + " shows its options";
}

}  // namespace

int main(int argc, char** argv) {
  tune::MeetLimits();
  const std::string program_dir = ProgramDir();
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "report" && !tune::AsksForPageReport({argv + 2, argv + argc})) {
    return tune::ReportCommand({argv + 2, argv + argc}, tune::EnvironmentText("TUNE_SOCKET"),
                               std::cout, std::cerr);
  }

  CLI::App app{"Finds good hyperparameters.\nExample: tune run space.yaml --samples 16", "tune"};
  app.set_version_flag("--version", [&program_dir] { return tune::VersionText(program_dir); });
  app.require_subcommand(1);
  std::string db_path, head_text;
  AddPlaces(app, db_path, head_text);

  tune::Commands commands(app);
  commands.SetGroup("Running sweeps");
  tune::AddSweepCommands(commands);
  commands.SetGroup("Many sweeps on one pool of workers");
  tune::AddHeadCommands(commands);
  commands.SetGroup("Looking at sweeps");
  tune::AddAnswerCommands(commands);
  commands.SetGroup("Before a sweep");
  tune::AddPlanCommands(commands);
  commands.SetGroup("Trials that you run yourself, and JSON lines");
  tune::AddLineCommands(commands);
  commands.SetGroup("Keeping things in order");
  tune::AddUpkeepCommands(commands);
  OtherPrograms others;
  others.AddTo(app, commands);
  commands.SetGroup("Help");
  tune::AddHelpCommands(commands);
  const auto show_overview = [&app] {
    std::cout << tune::Overview(tune::ReadCommandTexts(app));
    return tune::Answered(0);
  };
  if (argc == 1) return show_overview();

  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.push_back(AsArgument(argv[i]));
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    const bool asks_for_help = dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr;
    if (asks_for_help && app.get_subcommands().empty()) return show_overview();
    if (error.get_exit_code() == 0) return app.exit(error);
    tune::Tell("tune: " + WhatIsWrong(app, error) + " (" + HelpFor(app) + ")");
    return 2;
  }

  if (db_path.empty()) {
    std::cerr << "tune: --db: read '', expected the path of a file such as tune.db\n";
    return 2;
  }
  const auto head = HeadOf(app, head_text);
  if (!head.ok()) return tune::Complain(head.status());
  const std::string command = app.get_subcommands().front()->get_name();
  const bool begins_here = command == "submit" || command == "run";
  if (*head && !begins_here) {
    return RunThere(**head, {argv + 1, argv + argc});
  }
  // The lock, the artifacts and the socket are named after the database: it must have one name.
  return commands.Run(
      {tune::FollowLinks(db_path), *head, program_dir, CommandLine(argv[0], arguments)});
}
