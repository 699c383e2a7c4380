// One line of `tune doctor`.
//
// Thread rule: values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tune {

enum class FindingState { kOk, kWarning, kProblem };

struct Finding {
  FindingState state = FindingState::kOk;
  std::string item;    // "fsync", "journal of food11".
  std::string what;    // What was seen.
  std::string remedy;  // What to do about it; empty when all is well.
};

using Findings = std::vector<Finding>;

inline Finding Ok(std::string item, std::string what) {
  return {FindingState::kOk, std::move(item), std::move(what), ""};
}
inline Finding Warning(std::string item, std::string what, std::string remedy) {
  return {FindingState::kWarning, std::move(item), std::move(what), std::move(remedy)};
}
inline Finding Problem(std::string item, std::string what, std::string remedy) {
  return {FindingState::kProblem, std::move(item), std::move(what), std::move(remedy)};
}

}  // namespace tune
