// Manual pages, made of the commands' texts.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "tuner/cli/words/command_texts.h"

namespace tune {

struct ManualPage {
  std::string file;  // "tune-run.1"
  std::string text;  // For man(1).
};

// tune.1 with all commands, and a page for each.
std::vector<ManualPage> ManualPages(const std::vector<CommandUsage>& commands,
                                    const std::string& version);

}  // namespace tune
