// What a person sees of a running sweep: on a terminal a table that redraws itself, otherwise plain
// lines, both on standard error; at the end the summary on standard output.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "core/time.h"
#include "tuner/store.h"
#include "tuner/sweep_view.h"

namespace tune {

class SweepDisplay {
 public:
  SweepDisplay(const SweepView& view, const StoredExperiment& experiment, std::string db_path,
               Instant now);
  ~SweepDisplay();

  // Shows what has changed, at most as often as is useful.
  void Update(Instant now);
  // A line that stays.
  void Say(const std::string& line);
  // Shows the end; nothing is redrawn after it.
  void Close(Instant now);
  // `iterations_again`: that were trained once more (stored_snapshot.h), which the controller does
  // not count.
  void PrintSummary(Instant now, int64_t iterations_again);
  // "tune resume food11 --db tune.db"
  std::string ResumeLine() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tune
