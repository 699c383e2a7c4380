// Sweeps that listen for other machines: what a test reads from the tuner's line and gives to its
// workers.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune::testing {

struct JoinLine {
  std::string address;
  std::string token;

  // The arguments of tune.
  std::vector<std::string> Worker(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"worker", "--connect", address, "--join", token};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

// From "... tune worker --connect HOST:PORT --join TOKEN"; empty where the line has none.
inline JoinLine ParseJoinLine(const std::string& line) {
  const auto word_after = [&](const std::string& option) {
    const size_t at = line.find(option + " ");
    if (at == std::string::npos) return std::string();
    const size_t begin = at + option.size() + 1;
    return line.substr(begin, line.find_first_of(" \n", begin) - begin);
  };
  return {word_after("--connect"), word_after("--join")};
}

// Reads the tuner's standard error until its join line; empty if it ends before.
inline JoinLine WaitForJoinLine(Program& tune) {
  JoinLine found;
  tune.WaitForLine([&](const std::string& line) {
    found = ParseJoinLine(line);
    return !found.token.empty();
  });
  return found;
}

}  // namespace tune::testing
