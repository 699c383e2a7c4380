// `tune ask-tell`: the searcher alone, spoken to in JSON lines (product.md section 6). Pure: a line
// in, lines out. The spec's `samples` does not count here: who asks decides how often.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "search/searcher.h"
#include "tuner/json_lines.h"

namespace tune {

class AskTellSession {
 public:
  explicit AskTellSession(std::unique_ptr<Searcher> searcher);

  // The answers to the next line, without line ends: configurations, {"ok":true}, {"done":true}
  // where the space has no more. A line that cannot be used is an error ("line 3: ..."), after
  // which no more may be given: syntax, unknown keys, a trial that was never asked for or is over,
  // an iteration not above the last.
  Result<std::vector<std::string>> OnLine(std::string_view line);

 private:
  struct Trial {
    bool is_over = false;
    int64_t iteration = 0;
    Metric last_value;
  };

  Result<std::vector<std::string>> Ask(const Value& object);
  Status Tell(const Value& tell);
  Status CheckKeys(const Value& tell) const;

  std::unique_ptr<Searcher> searcher_;
  LineReader reader_;
  std::vector<Trial> trials_;  // By number.
};

}  // namespace tune
