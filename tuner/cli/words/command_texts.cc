#include "tuner/cli/words/command_texts.h"

#include <algorithm>
#include <sstream>

namespace tune {
namespace {

constexpr std::string_view kExample = "Example: ";

OptionText ReadOption(const CLI::Option& option) {
  OptionText text;
  text.is_positional = option.get_positional();
  text.about = option.get_description();
  text.is_required = option.get_required();
  text.is_many = option.get_items_expected_max() > 1;
  if (text.is_positional) {
    text.name = option.get_single_name();
  } else {
    if (!option.get_lnames().empty()) text.name = "--" + option.get_lnames().front();
    if (!option.get_snames().empty()) text.short_name = "-" + option.get_snames().front();
    if (text.name.empty()) text.name = std::exchange(text.short_name, "");
  }
  if (option.get_items_expected_max() > 0) text.value = option.get_type_name();
  return text;
}

CommandUsage ReadCommand(const CLI::App& app) {
  CommandUsage text;
  text.name = app.get_name();
  text.group = app.get_group();
  std::istringstream lines(app.get_description());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kExample)) {
      text.examples.push_back(line.substr(kExample.size()));
    } else {
      text.about += (text.about.empty() ? "" : " ") + line;
    }
  }
  for (const CLI::Option* const option : app.get_options()) {
    if (!option->get_group().empty()) text.options.push_back(ReadOption(*option));
  }
  return text;
}

}  // namespace

std::vector<CommandUsage> ReadCommandTexts(const CLI::App& app) {
  std::vector<CommandUsage> commands = {ReadCommand(app)};
  for (const CLI::App* const command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) commands.push_back(ReadCommand(*command));
  }
  return commands;
}

std::string FirstSentence(const std::string& text) {
  const size_t end = text.find_first_of(".;:");
  return end == std::string::npos ? text : text.substr(0, end) + ".";
}

std::string Overview(const std::vector<CommandUsage>& commands) {
  const CommandUsage& program = commands.front();
  std::string text = program.about + "\n\nusage: tune [--db FILE] COMMAND ...\n";
  for (const std::string& example : program.examples) text += "example: " + example + "\n";
  size_t width = 0;
  for (const CommandUsage& command : commands) width = std::max(width, command.name.size());
  std::vector<std::string> groups;
  for (size_t i = 1; i < commands.size(); ++i) {
    if (std::find(groups.begin(), groups.end(), commands[i].group) == groups.end())
      groups.push_back(commands[i].group);
  }
  for (const std::string& group : groups) {
    text += "\n" + group + "\n";
    for (size_t i = 1; i < commands.size(); ++i) {
      if (commands[i].group != group) continue;
      const std::string& name = commands[i].name;
      text += "  " + name + std::string(width + 2 - name.size(), ' ') +
              FirstSentence(commands[i].about) + "\n";
    }
  }
  return text + "\ntune help COMMAND shows the options and examples of a command.\n";
}

}  // namespace tune
