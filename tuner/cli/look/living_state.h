// What only the living tuner of a sweep knows or can do: it is asked over its control socket.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/control/control_request.h"

namespace tune {

// Asks the tuner that runs `request.sweep`; its process is filled in here. The answer's status is
// its refusal. An error here: kFailedPrecondition, no tuner runs this sweep; kUnavailable, there is
// one that did not answer.
Result<ControlAnswer> AskLivingTuner(const std::string& db_path, ControlRequest request,
                                     const Clock& clock, Duration patience);

// What it tells of one of the verbs that change nothing; nothing where no tuner answers in time.
std::vector<std::string> LinesOfTuner(const std::string& db_path, const std::string& sweep,
                                      ControlVerb verb, const Clock& clock);

// Why its first trial that waits does so, as the tuner tells a person; "": none waits, or nobody
// answers.
std::string WhyItWaits(const std::string& db_path, const std::string& sweep, const Clock& clock);

// Of workers that the tuner counts on: "far has not been heard of for 12s", where it should have
// been, and "far: checkpoints wait: cannot write s3://...".
std::vector<std::string> TroublesOfWorkers(const std::string& db_path, const std::string& sweep,
                                           const Clock& clock);
// Of a sweep without workers of its own: how many its head has for it, of which none has had a
// trial of it; "none" where nobody tells.
std::string DescribeNoWorkers(const std::string& db_path, const std::string& sweep,
                              const Clock& clock);

// A RUNNING sweep whose tuner says so becomes PAUSED. A tuner that does not answer in time changes
// nothing.
void TellPaused(const std::string& db_path, const Clock& clock, FoundSweep& sweep);

// What the living tuner of a database tells of all its sweeps in one answer: for lists of sweeps.
class LivingStates {
 public:
  // Nobody is asked.
  LivingStates() = default;
  // Where no tuner lives, or none of `sweeps` runs, nobody is asked: a tuner that ends answers no
  // more.
  static LivingStates Ask(const std::string& db_path, const std::vector<FoundSweep>& sweeps,
                          const Clock& clock, Duration patience = Seconds(10));

  // As the functions of these names above.
  void TellPaused(FoundSweep& sweep) const;
  std::string WhyItWaits(const FoundSweep& sweep) const;
  // Why some sweeps of a living tuner are not known of: it does not answer, or its answer has no
  // room for them.
  const Status& status() const { return status_; }

 private:
  struct State {
    bool is_paused = false;
    std::string why;
  };
  void Take(const std::string& line);
  const State* Find(const FoundSweep& sweep) const;

  std::map<int64_t, State> states_;     // By the sweep's id,
  std::map<std::string, State> named_;  // or name, where its tuner has no other and knows no id.
  Status status_;
};

// RUNNING or PAUSED.
bool HasTuner(const FoundSweep& sweep);

}  // namespace tune
