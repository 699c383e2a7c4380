// TRIAL on a command line: a number in the latest sweep, NAME/NUMBER, or NAME NUMBER.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct FoundTrial {
  FoundSweep sweep;
  int64_t id = 0;
  int64_t number = 0;

  std::string Name() const { return sweep.name + "/" + std::to_string(number); }
};

// The words of a command line as TRIALs of one word each: a word that is neither a number nor ends
// in "/NUMBER" is the sweep of the numbers after it. {"3"} is {"3"}; {"food11", "3", "7"} is
// {"food11/3", "food11/7"}. A name that no number follows stays as it is, for FindTrial to refuse.
std::vector<std::string> TrialTexts(const std::vector<std::string>& words);

// Takes the TRIAL that `words` begin with, one word or two, off them: of {"food11", "3", "0.42"} it
// gives "food11/3". Requires a word.
std::string TakeTrial(std::vector<std::string>& words);

// kInvalidArgument says what a TRIAL looks like; kNotFound which sweeps and trials there are.
Result<FoundTrial> FindTrial(Database& database, const std::string& text);

}  // namespace tune
