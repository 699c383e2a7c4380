// `tune decide`: the scheduler alone, spoken to in JSON lines. Pure: a line in, lines out.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/status.h"
#include "core/value.h"
#include "schedulers/trial_scheduler.h"
#include "tuner/json_lines.h"
#include "tuner/metric_scores.h"
#include "tuner/result_limits.h"

namespace tune {

class DecideSession {
 public:
  // What a sweep makes of a report before its scheduler hears of it.
  struct Scoring {
    std::string metric;  // The sweep's; the text where it is an expression.
    MetricScores scores = {};
    Mode mode = Mode::kMax;
    // Names no parameters: no line tells a configuration.
    ResultLimits feasible = {};
  };

  DecideSession(std::unique_ptr<TrialScheduler> scheduler, Scoring scoring);

  // The answers to the next line, without line ends: one for a report, then one for each paused
  // trial of which it decided: {"trial": "b", "decision": "resume"}; a stop or an exploit (of a
  // "source") also has rung, cutoff, rank and count. A line that cannot be used is an error ("line
  // 3: ..."), after which no more may be given: syntax, an unknown event, a report of a trial that
  // is over or paused, an iteration not above the last.
  Result<std::vector<std::string>> OnLine(std::string_view line);

 private:
  enum class State { kRunning, kPaused, kStopped, kOver };
  struct Trial {
    TrialNumber number;
    State state = State::kRunning;
    int64_t iteration = 0;
  };

  Result<Trial*> FindOrAdd(const Value& object, bool& is_new);
  Status OnEvent(const Value& object, Trial& trial, bool is_new);
  Result<std::string> OnReport(const Value& object, Trial& trial);
  std::string OnOrder(const Order& order);
  // The numbers on the line, with what the sweep makes of them.
  Result<Metrics> ReadMetrics(const Value& object) const;
  // What the scheduler compares: the value, of a report that breaks limits core/standing.h's.
  Metric RankedIn(const Metrics& metrics) const;

  std::unique_ptr<TrialScheduler> scheduler_;
  Scoring scoring_;
  LineReader reader_;
  std::map<std::string, Trial> trials_;  // By the JSON of the name that it was given.
  std::vector<std::string> names_;       // Such JSON, by number.
};

}  // namespace tune
