#include "trial_runner/version.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace tune {

const char kProgramVersion[] = TUNE_VERSION;

namespace {

// "0.10.1" as its numbers; what is none counts as 0.
std::vector<int64_t> NumbersIn(std::string_view version) {
  std::vector<int64_t> numbers;
  while (!version.empty()) {
    const std::string_view part = version.substr(0, version.find('.'));
    version.remove_prefix(std::min(version.size(), part.size() + 1));
    numbers.push_back(0);
    std::from_chars(part.data(), part.data() + part.size(), numbers.back());
  }
  return numbers;
}

}  // namespace

std::string DescribeVersions(std::string_view worker, std::string_view tuner) {
  const std::string both = "the worker is of version " + std::string(worker) +
                           ", the tuner of version " + std::string(tuner);
  const auto of_worker = NumbersIn(worker);
  const auto of_tuner = NumbersIn(tuner);
  if (of_worker == of_tuner) return both + "; install the same one on both machines";
  return of_worker < of_tuner
             ? both + ": the worker is older; install " + std::string(tuner) + " on its machine"
             : both + ": the tuner is older; install " + std::string(worker) + " on its machine";
}

bool AnswerVersion(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--version") return false;
  std::puts(kProgramVersion);
  return true;
}

}  // namespace tune
