#include "tuner/cli/words/completion.h"

#include <algorithm>

#include "core/check.h"
#include "trial_runner/command_text.h"

namespace tune {
namespace {

std::vector<OptionText> Only(const CommandUsage& command, bool positionals) {
  std::vector<OptionText> options;
  std::copy_if(command.options.begin(), command.options.end(), std::back_inserter(options),
               [&](const OptionText& option) { return option.is_positional == positionals; });
  return options;
}

// "--samples -f --follow", and with their values "--samples=N --format=table|csv|json".
std::string Names(const CommandUsage& command) {
  std::string names;
  for (const OptionText& option : Only(command, false)) {
    names += (names.empty() ? "" : " ") + option.name;
    if (!option.short_name.empty()) names += " " + option.short_name;
  }
  return names;
}

std::string CommandNames(const std::vector<CommandUsage>& commands) {
  std::string names;
  for (size_t i = 1; i < commands.size(); ++i) names += (i > 1 ? " " : "") + commands[i].name;
  return names;
}

// ---- bash

constexpr char kBashBegin[] = R"bash(# bash completion for tune, made by: tune completion bash
# Use it with: source <(tune completion bash)

_tune_values() {
  case $1 in
    FILE) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    DIR) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2") ;;
    NAME | TRIAL)
      mapfile -t COMPREPLY < <(compgen -W "$(tune ${3:+--db "$3"} list --names 2>/dev/null)" -- "$2") ;;
    COMMAND) mapfile -t COMPREPLY < <(compgen -W "$_tune_commands" -- "$2") ;;
    *\|*) mapfile -t COMPREPLY < <(compgen -W "${1//|/ }" -- "$2") ;;
  esac
}

_tune() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command='' db='' options='' values='' positionals=() place=0 i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ ${COMP_WORDS[i-1]} == --db ]]; then db=$word
    elif [[ $word == -* ]]; then :
    elif [[ -z $command ]]; then command=$word
    fi
  done
  case $command in
)bash";

constexpr char kBashEnd[] = R"bash(  esac
  # What the option before takes.
  for word in $values; do
    if [[ ${word%%=*} == "$previous" ]]; then
      _tune_values "${word#*=}" "$current" "$db"
      return
    fi
  done
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  # How many positional words stand before.
  local after='' seen=0
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ -n $after ]]; then after=''; continue; fi
    if [[ $word == -* ]]; then
      [[ " $values " == *" $word="* ]] && after=1
    elif [[ -n $command && $seen == 0 && $word == "$command" ]]; then seen=1
    else ((++place))
    fi
  done
  ((place < ${#positionals[@]})) || place=$((${#positionals[@]} - 1))
  ((place >= 0)) && _tune_values "${positionals[place]}" "$current" "$db"
}

complete -F _tune tune
)bash";

std::string Values(const CommandUsage& command) {
  std::string values;
  for (const OptionText& option : Only(command, false)) {
    if (option.value.empty()) continue;
    for (const std::string& name : {option.name, option.short_name}) {
      if (!name.empty()) values += (values.empty() ? "" : " ") + name + "=" + option.value;
    }
  }
  return values;
}

std::string Bash(const std::vector<CommandUsage>& commands) {
  const CommandUsage& program = commands.front();
  std::string script = kBashBegin;
  for (const CommandUsage& command : commands) {
    const bool is_program = &command == &program;
    std::string options = Names(command);
    std::string values = Values(command);
    if (!is_program) {
      options += " " + Names({"", "", "", {}, {program.options.begin(), program.options.end()}});
      values += " " + Values(program);
    }
    std::string positionals = is_program ? "COMMAND" : "";
    for (const OptionText& option : Only(command, true)) {
      positionals += (positionals.empty() ? "" : " ") + InSingleQuotes(option.value);
    }
    script += "    " + (is_program ? std::string("''") : command.name) +
              ")\n      options=" + InSingleQuotes(options) +
              "\n      values=" + InSingleQuotes(values) + "\n      positionals=(" + positionals +
              ") ;;\n";
  }
  const std::string names = "_tune_commands=" + InSingleQuotes(CommandNames(commands)) + "\n\n";
  script.insert(script.find("_tune_values() {"), names);
  return script + kBashEnd;
}

// ---- zsh

// Within '...' of _arguments: brackets and colons mean something there.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ZshAction(const std::string& value) {
  if (value == "FILE") return "_files";
  if (value == "DIR") return "_files -/";
  if (value == "NAME" || value == "TRIAL") return "_tune_sweeps";
  if (value == "COMMAND") return "_tune_commands";
  if (value.find('|') == std::string::npos) return " ";
  std::string choices = value;
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return "(" + choices + ")";
}

std::string ZshArguments(const CommandUsage& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    const std::string about = ZshText(option.about);
    const std::string value = ZshText(option.value) + ":" + ZshAction(option.value);
    const std::string taken = option.value.empty() ? "" : ":" + value;
    if (option.is_positional) {
      text += " \\\n        " + InSingleQuotes((option.is_many ? "*:" : ":") + value);
      continue;
    }
    for (const std::string& name : {option.name, option.short_name}) {
      if (!name.empty()) text += " \\\n        " + InSingleQuotes(name + "[" + about + "]" + taken);
    }
  }
  return text;
}

std::string Zsh(const std::vector<CommandUsage>& commands) {
  std::string script =
      "#compdef tune\n# zsh completion for tune, made by: tune completion zsh\n"
      "# Use it with: tune completion zsh > a folder of $fpath/_tune\n\n"
      "_tune_sweeps() {\n  local -a sweeps=(${(f)\"$(tune list --names 2>/dev/null)\"})\n"
      "  compadd -a sweeps\n}\n\n_tune_commands() {\n  local -a commands=(\n";
  for (size_t i = 1; i < commands.size(); ++i) {
    script += "    " +
              InSingleQuotes(commands[i].name + ":" + ZshText(FirstSentence(commands[i].about))) +
              "\n";
  }
  script +=
      "  )\n  _describe command commands\n}\n\n_tune() {\n  local state line\n  _arguments "
      "-C" +
      ZshArguments(commands.front()) +
      " \\\n        '1:command:_tune_commands' '*::argument:->arguments'\n"
      "  [[ $state == arguments ]] || return\n  case $words[1] in\n";
  for (size_t i = 1; i < commands.size(); ++i) {
    script +=
        "    " + commands[i].name + ")\n      _arguments" + ZshArguments(commands[i]) + " ;;\n";
  }
  return script + "  esac\n}\n\n_tune \"$@\"\n";
}

// ---- fish

std::string FishValues(const std::string& value) {
  if (value.empty()) return "";
  if (value == "FILE") return " -r -F";
  if (value == "DIR") return " -x -a '(__fish_complete_directories)'";
  if (value == "NAME" || value == "TRIAL") return " -x -a '(tune list --names 2>/dev/null)'";
  if (value.find('|') == std::string::npos) return " -x";
  std::string choices = value;
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return " -x -a " + InSingleQuotes(choices);
}

std::string FishOptions(const CommandUsage& command, const std::string& condition) {
  std::string script;
  for (const OptionText& option : command.options) {
    const std::string line = "complete -c tune" + condition;
    if (option.is_positional) {
      const std::string values = option.value == "FILE" ? " -F" : FishValues(option.value);
      if (values != " -x") script += line + values + "\n";
      continue;
    }
    std::string names;
    if (!option.short_name.empty()) names += " -s " + option.short_name.substr(1);
    if (option.name.starts_with("--")) names += " -l " + option.name.substr(2);
    script +=
        line + names + FishValues(option.value) + " -d " + InSingleQuotes(option.about) + "\n";
  }
  return script;
}

std::string Fish(const std::vector<CommandUsage>& commands) {
  std::string script =
      "# fish completion for tune, made by: tune completion fish\n"
      "# Use it with: tune completion fish > ~/.config/fish/completions/tune.fish\n\n"
      "complete -c tune -f\n" +
      FishOptions(commands.front(), "");
  for (size_t i = 1; i < commands.size(); ++i) {
    const CommandUsage& command = commands[i];
    script += "complete -c tune -n __fish_use_subcommand -a " + command.name + " -d " +
              InSingleQuotes(FirstSentence(command.about)) + "\n" +
              FishOptions(command, " -n '__fish_seen_subcommand_from " + command.name + "'");
  }
  return script;
}

}  // namespace

Result<std::string> CompletionScript(std::string_view shell,
                                     const std::vector<CommandUsage>& commands) {
  TUNE_CHECK(!commands.empty());
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return Zsh(commands);
  if (shell == "fish") return Fish(commands);
  return InvalidArgument("completion: read '" + std::string(shell) +
                         "', expected bash, zsh or fish");
}

}  // namespace tune
