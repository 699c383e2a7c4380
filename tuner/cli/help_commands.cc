// What tells how to use the rest: help, manual pages, completions.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/nearest_name.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/words/command_texts.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/completion.h"
#include "tuner/cli/words/manual_page.h"

namespace tune {
namespace {

struct HelpOptions {
  std::string command;
  std::string man_dir;
};

Status WriteManual(const std::string& dir, const std::vector<CommandUsage>& commands) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return InvalidArgument("--man " + dir + ": cannot be made: " + error.message());
  for (const ManualPage& page : ManualPages(commands, TUNE_VERSION)) {
    const std::string path = (std::filesystem::path(dir) / page.file).string();
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << page.text;
    file.close();
    if (file.fail())
      return Internal(path + ": cannot be written; is there room, and may the folder be written?");
  }
  return OkStatus();
}

Status Help(const HelpOptions& options, const CLI::App& app) {
  if (!options.man_dir.empty()) return WriteManual(options.man_dir, ReadCommandTexts(app));
  if (options.command.empty()) {
    std::cout << Overview(ReadCommandTexts(app));
    return OkStatus();
  }
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands(nullptr)) {
    if (command->get_name() == options.command) {
      std::cout << command->help("tune");
      return OkStatus();
    }
    names.push_back(command->get_name());
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  return InvalidArgument("there is no command '" + options.command + "'" +
                         DidYouMean(options.command, known) + " (tune help shows the commands)");
}

}  // namespace

void AddHelpCommands(Commands& commands) {
  const auto [help, asked] = commands.Add<HelpOptions>(
      "help",
      "How a command is used.\nExample: tune help run\nExample: tune help --man "
      "~/.local/share/man/man1");
  help->add_option("command", asked->command, "The command; default: all of them")
      ->type_name("COMMAND");
  help->add_option("--man", asked->man_dir, "Writes manual pages into this folder")
      ->type_name("DIR");
  commands.Bind(help, [&commands, asked = asked](const Invocation&) {
    const Status status = Help(*asked, commands.app());
    return status.ok() ? Answered(0) : Complain(status, std::cerr);
  });

  const auto [completion, shell] = commands.Add<std::string>(
      "completion",
      "Prints what completes tune's commands in a shell.\nExample: source <(tune completion bash)\n"
      "Example: tune completion fish > ~/.config/fish/completions/tune.fish");
  completion->add_option("shell", *shell, "The shell")->type_name("bash|zsh|fish")->required();
  commands.Bind(completion, [&commands, shell = shell](const Invocation&) {
    const Result<std::string> script = CompletionScript(*shell, ReadCommandTexts(commands.app()));
    if (!script.ok()) return Complain(script.status(), std::cerr);
    std::cout << *script;
    return Answered(0);
  });
}

}  // namespace tune
