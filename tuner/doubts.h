// What may be wrong with a sweep's answer, as its trials show it: an expression that reads lines of
// two kinds, runs that differ where they should not. Each kind is said once, when it is first seen;
// which trials it concerns is kept, and told wherever the answer is.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "tuner/transition.h"

namespace tune {

struct Doubt {
  std::string text;         // Of the first trial.
  int64_t trial_count = 0;  // That have it.
};

// "trial 0: ...; 3 more trials alike".
std::string Describe(const Doubt& doubt);

class Doubts {
 public:
  struct Added {
    NoteRow row;
    bool is_first = false;  // Of its kind: to be said.
  };

  // Nothing where this trial has one of the kind, or there are too many kinds.
  std::optional<Added> Add(TrialNumber trial, const std::string& kind, const std::string& text);
  // In order of their first.
  std::vector<Doubt> list() const;

 private:
  struct Kind {
    std::string text;
    std::set<TrialNumber> trials;
  };
  std::map<std::string, size_t> numbers_;  // Of kinds.
  std::vector<Kind> kinds_;
};

}  // namespace tune
