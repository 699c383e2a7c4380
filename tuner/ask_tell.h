// `tune ask-tell`: the searcher alone, spoken to in JSON lines. Pure: a line in, lines out. The
// spec's `samples` does not count here: who asks decides how often. What the lines led to can be
// taken as rows and committed before the answers are given; the lines are then the journal, and the
// same lines with the suggestions of the rows lead to the same session again.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "search/searcher.h"
#include "tuner/experiment_spec.h"
#include "tuner/json_lines.h"
#include "tuner/transition.h"

namespace tune {

// kInvalidArgument where a spec's `search` weighs what trials cost, which nobody tells of here.
Status RefuseDurations(const Value& search);

class AskTellSession {
 public:
  struct Step {
    std::vector<std::string> lines;
    Transition rows;
  };
  struct JournalLine {
    std::string text;
    Instant at;
  };

  // `feasible`: limits on results, for which a tell has the "metrics" that they name.
  AskTellSession(std::unique_ptr<Searcher> searcher, std::vector<Objective> objectives,
                 ResultLimits feasible = {});

  // From now on lines and rows are kept for TakeStep.
  void KeepSteps() { keeps_steps_ = true; }
  // Recovery, before KeepSteps: the lines of an earlier life, with its suggestions in place of
  // asking the searcher again.
  Status Replay(const std::vector<JournalLine>& lines,
                std::vector<std::pair<TrialNumber, Configuration>> suggestions);
  // What was used since the last call.
  Step TakeStep();
  int64_t trial_count() const { return static_cast<int64_t>(trials_.size()); }

  // The answers to the next line, without line ends: configurations, {"ok":true}, {"done":true}
  // where the space has no more, the best trial. A line that cannot be used is an error ("line 3:
  // ..."), and changes nothing: syntax, unknown keys, a trial that was never asked for or is over,
  // an iteration not above the last, a number of values that is not that of the objectives.
  Result<std::vector<std::string>> OnLine(std::string_view line, Instant now = {});

 private:
  struct Trial {
    TrialRow row;
    Configuration configuration;
    std::vector<Metric> last_values;  // One for each objective, then one for each limit.
    bool is_over() const { return row.status != TrialStatus::kRunning; }
  };

  Result<std::vector<std::string>> Ask(const Value& object);
  std::optional<Configuration> Suggest(TrialNumber number);
  Result<std::string> Best(const Value& asked) const;
  Status Tell(const Value& tell);
  Status TellIteration(Trial& trial, const Value& tell, std::vector<Metric> values);
  Result<std::vector<Metric>> ReadValues(const Value& tell) const;
  // What the objectives and the "metrics" of a tell are called and came to.
  Result<Metrics> ReadMetrics(const Value& tell, const std::vector<Metric>& values) const;
  Status Report(Trial& trial, const Value& tell, int64_t iteration,
                const std::vector<Metric>& values);
  Status CheckKeys(const Value& tell) const;

  std::unique_ptr<Searcher> searcher_;
  LineReader reader_;
  std::vector<Objective> objectives_;
  ResultLimits feasible_;
  std::vector<Trial> trials_;  // By number.
  std::map<TrialNumber, Configuration> suggestions_;
  bool keeps_steps_ = false;
  Instant now_;  // Of the line that is being read.
  Step step_;
};

}  // namespace tune
