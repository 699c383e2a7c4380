// A worker of a simulated head, as messages.h has it, and no more: attempts of any sweep that
// report one iteration after another, a place in its queue, what it holds when it comes back. What
// it may not be told (an attempt of a sweep that it does not know, more than it has room for) is a
// finding.
//
// Thread rule: one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/sim/happenings.h"
#include "tests/sim/trace.h"
#include "trial_runner/messages.h"

namespace tune::sim {

// The value of a configuration {"x": 0.25} at an iteration.
double ValueAt(const std::string& config, int64_t iteration);

class HeadWorker {
 public:
  struct Options {
    int64_t index = 0;
    bool is_local = false;
    int64_t cpus = 1;
    Duration iteration_time;
    double crash = 0;  // For each iteration.
  };
  using IterationsOf = std::function<int64_t(ExperimentId)>;
  // Sends one message on the present connection.
  using SendUp = std::function<void(FromWorker)>;

  HeadWorker(const Options& options, const IterationsOf& iterations_of, Happenings& happenings,
             Trace& trace, uint64_t seed);

  // A new process: it knows nothing, and is not connected.
  void Start();
  // kill -9, and what it ran with it.
  void Kill();
  bool is_alive() const { return is_alive_; }
  bool is_local() const { return options_.is_local; }
  // Trials do no more than report and end.
  void EndCrashes() { options_.crash = 0; }

  bool is_connected() const { return send_ != nullptr; }
  // Says Hello.
  void Connect(SendUp send);
  void Disconnect();
  void On(const ToWorker& message);

  // It finds that it cannot run a sweep that it knows, and later that it can.
  void BecomeUnfit();
  void BecomeFit();

 private:
  struct Attempt {
    StartAttempt start;
    int64_t iteration = 0;
    int64_t sequence = 0;
    std::optional<AttemptReport> unanswered;
    bool is_to_stop = false;
    bool is_to_die = false;
    std::optional<AttemptEnded> end;  // It holds nothing any more.
  };

  void Send(FromWorker message);
  void Beat();
  void Welcomed(const Welcome& welcome);
  void Forget(ExperimentId sweep);
  void Take(const StartAttempt& start);
  void Begin(const StartAttempt& start);
  void Wake(const AttemptRef& ref);
  void Advance(const AttemptRef& ref);
  void Report(Attempt& attempt);
  void End(const AttemptRef& ref, Outcome outcome);
  void SayEnd(const AttemptEnded& end);
  void Answered(const AnswerReport& answer);
  void ToldToDie(const KillAttempt& kill);

  Options options_;
  const IterationsOf iterations_of_;
  Happenings& happenings_;
  Trace& trace_;
  KeyedRandom random_;
  int64_t life_ = 0;
  bool is_alive_ = false;
  std::string session_;
  std::vector<std::string> ended_sessions_;
  SendUp send_;
  bool is_up_ = false;  // Welcomed: before that nothing follows its Hello.
  int64_t connection_ = 0;
  Duration heartbeat_;
  int64_t free_cpu_milli_ = 0;
  std::set<ExperimentId> knows_;
  std::map<ExperimentId, std::string> unfit_;  // Why not; empty: it can again.
  std::map<AttemptRef, Attempt> attempts_;
  std::deque<StartAttempt> ahead_;
  // Ends of this connection: how many, what each left idle, and those not yet acknowledged.
  int64_t end_count_ = 0;
  std::deque<std::pair<int64_t, int64_t>> idle_;
  std::deque<AttemptRef> said_ends_;
};

}  // namespace tune::sim
