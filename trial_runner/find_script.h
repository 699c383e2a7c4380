// The script that a command's program is given, and whether it reads what tune gives to programs.
//
// Thread rule: stateless.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/command_spec.h"

namespace tune {

// As the command writes it: "train.py" of [python3, -u, train.py, --lr, "{lr}"]; the program itself
// where that is a path. Nothing where it is not sure, as for python3 -m, a shell's text, or a name
// that a parameter decides.
std::optional<std::string> ScriptOf(const CommandSpec& spec);

// The script's name, as ScriptOf has it, and its text; nothing where either is not known. `folder`:
// the program's working folder.
struct ScriptText {
  std::string name;
  std::string text;
};
std::optional<ScriptText> ReadScriptOf(const CommandSpec& spec, const std::string& folder);

// The script is a file that can be read. `folder`: the program's working folder.
Status CheckScript(const std::string& script, const std::string& folder);

// Those of `parameters` (flat names) that nothing carries to the program: neither the command nor
// `env` names them, and the script and the files of its kind beside it read neither a configuration
// of tune's (TUNE_CONFIG, TUNE_PARAM_...) nor the module tune. Nothing where it is not sure.
std::vector<std::string> UncarriedParameters(const CommandSpec& spec,
                                             const std::vector<std::string>& parameters,
                                             const std::string& folder);

// The options with a parameter's value that the script neither knows nor refuses: it reads its
// options by argparse's parse_known_args, and names none that begins so. Nothing where it is not
// sure.
std::vector<std::string> OptionsPassedOver(const CommandSpec& spec, const std::string& folder);

// The variables of `env` with the parameter of their name that no script in the folder or below
// names, or that the command's shell script sets before it reads them. Nothing where it is not
// sure.
std::vector<std::string> VariablesPassedOver(const CommandSpec& spec, const std::string& folder);

}  // namespace tune
