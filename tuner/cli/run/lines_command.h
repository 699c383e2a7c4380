// `tune decide SPACE` and `tune ask-tell SPACE`: the decision parts alone, as JSON lines over
// standard input and output. Lines may be pipelined: answers are written when the input has no more
// to read. `tune ask` and `tune tell` do the second one call at a time, against a database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tune {

struct LinesOptions {
  std::string space_path;
  std::vector<std::string> overrides;
  // Of ask-tell and ask: the sweep of the database that keeps what was said. ask-tell without a
  // name keeps nothing; ask takes the space file's.
  std::string name;
  std::string db_path;
  std::string command_line;
  int64_t count = 1;         // Of ask.
  bool keeps_going = false;  // Of ask-tell: a line that cannot be used is answered.
};

struct TellOptions {
  std::string trial;                // A number in the latest such sweep, or NAME/NUMBER.
  std::vector<std::string> values;  // One for each objective, as JSON.
  int64_t iteration = 0;            // 0: the trial is over.
  bool failed = false;
  std::vector<std::string> metrics;  // "latency_ms=12.5": what limits on results name.
  std::string db_path;
};

// Each returns the exit status: 0 at the input's end, 2 at a line that cannot be used.
int DecideCommand(const LinesOptions& options);
int AskTellCommand(const LinesOptions& options);
int AskCommand(const LinesOptions& options);
int TellCommand(const TellOptions& options);

}  // namespace tune
