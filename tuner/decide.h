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
#include "tuner/result_limits.h"

namespace tune {

class DecideSession {
 public:
  // Limits on results, and which way the metric goes. What they say of parameters is not known here
  // and counts as kept.
  struct Limits {
    ResultLimits feasible;
    Mode mode = Mode::kMax;
  };

  // `metric`: the sweep's; of the reports' other metrics those that limits name are looked at.
  DecideSession(std::unique_ptr<TrialScheduler> scheduler, std::string metric, Limits limits);
  DecideSession(std::unique_ptr<TrialScheduler> scheduler, std::string metric)
      : DecideSession(std::move(scheduler), std::move(metric), Limits()) {}

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
  // What the scheduler compares: the value, of a report that breaks limits core/standing.h's.
  Result<Metric> RankedOf(const Value& object, Metric value) const;

  std::unique_ptr<TrialScheduler> scheduler_;
  std::string metric_;
  Limits limits_;
  LineReader reader_;
  std::map<std::string, Trial> trials_;  // By the JSON of the name that it was given.
  std::vector<std::string> names_;       // Such JSON, by number.
};

}  // namespace tune
