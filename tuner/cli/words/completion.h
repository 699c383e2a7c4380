// Completion scripts for shells, made of the commands' texts.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tuner/cli/words/command_texts.h"

namespace tune {

// `shell`: "bash", "zsh" or "fish". Names of sweeps are asked of `tune list --names` when they are
// wanted.
Result<std::string> CompletionScript(std::string_view shell,
                                     const std::vector<CommandUsage>& commands);

}  // namespace tune
