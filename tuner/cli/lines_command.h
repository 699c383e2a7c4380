// `tune decide SPACE` and `tune ask-tell SPACE`: the decision parts alone, as JSON lines over
// standard input and output. Lines may be pipelined: answers are written when the input has no more
// to read.
#pragma once

#include <string>
#include <vector>

namespace tune {

struct LinesOptions {
  std::string space_path;
  std::vector<std::string> overrides;
};

// Returns the exit status: 0 at the input's end, 2 at a line that cannot be used.
int DecideCommand(const LinesOptions& options);
int AskTellCommand(const LinesOptions& options);

}  // namespace tune
