// What a command wrote, and how it ended.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace tune {

struct Answer {
  int status = -1;
  std::string out;
  std::string err;
};

// `command` writes to (out, err) and gives its exit status.
template <typename Command>
Answer AnswerOf(const Command& command) {
  std::ostringstream out, err;
  const int status = command(out, err);
  return {status, out.str(), err.str()};
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace tune
