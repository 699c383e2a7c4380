// Whole sweeps of which processes are killed at drawn moments, resumed until they end, and
// examined: the answer must be that of the sweep left alone, nothing acknowledged may be missing,
// no decision may change, and nothing may be left behind. For the kill tests, and the long runs of
// bench/kill.
//
// Victims and moments are drawn by (seed, run): a run that finds something can be tried again. The
// machine's own timing is not drawn, so it may take a few tries.
//
// Thread rule: one thread, and one KillRuns at a time (it awaits all children of the process).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tune::testing {

struct KillSweep {
  std::string name;
  std::string space;                     // Text of the space file.
  std::vector<std::string> run_options;  // After `tune run space.yaml`.
  // max_concurrent 1, or fifo: the final table and the decisions are those of the sweep left alone.
  // Else no committed decision may change, and that is all.
  bool is_order_fixed = true;
  bool has_checkpoints = false;  // Files: those of the best trial are compared bit by bit.
};

// Curves that last about a second, with what the promises depend on: trials shorter and longer than
// a commit, ASHA and fifo, one and four at a time, retries that report an iteration again.
std::vector<KillSweep> FixedOrderSweeps();
std::vector<KillSweep> AshaAtFourSweeps();
// The classifier on synthetic images, one at a time with ASHA, and three at a time with fifo.
std::vector<KillSweep> ClassifierSweeps();

struct KillRun {
  std::vector<std::string> findings;  // Empty: all is as promised.
  std::string story;                  // What was killed when, and how each life ended.
  int64_t tuner_kills = 0, worker_kills = 0, trial_kills = 0, group_kills = 0;
  int64_t kills_before_stored = 0;  // Nothing was in the database yet.
  int64_t lives = 0;
  int64_t answers = 0;  // That a trial process got for its reports.
  // From each kill of the tuner to its end (a synced write under way is waited for by the kernel),
  // and from there to the end of all other processes.
  std::vector<int64_t> tuner_end_us;
  std::vector<int64_t> last_end_us;
  int64_t kills() const { return tuner_kills + worker_kills + trial_kills + group_kills; }
};

class KillRuns {
 public:
  // `programs`: the folder with tune, tune_worker, ...; `witness`: a program that stands in for
  // tune_trial (witness_trial_main.cc), empty for none. `folder`: all files of the runs lie in it.
  // Runs the sweep once, undisturbed; `findings()` tells if that already fails.
  KillRuns(KillSweep sweep, const std::string& programs, const std::string& witness,
           std::string folder, uint64_t seed);

  const std::vector<std::string>& findings() const { return findings_; }
  const std::string& name() const { return sweep_.name; }
  KillRun Run(int64_t number);

 private:
  class OneRun;

  KillSweep sweep_;
  std::string programs_;
  std::string folder_;
  uint64_t seed_;
  std::vector<std::string> findings_;
  std::vector<std::string> answer_;  // Of the sweep left alone.
  int64_t duration_us_ = 0;
};

}  // namespace tune::testing
