#include "tests/sim/head_worker.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace tune::sim {

double ValueAt(const std::string& config, int64_t iteration) {
  const double x = std::stod(config.substr(config.find(':') + 1));
  return x * (1.0 - std::exp2(static_cast<double>(-iteration)));
}

HeadWorker::HeadWorker(const Options& options, const IterationsOf& iterations_of,
                       Happenings& happenings, Trace& trace, uint64_t seed)
    : options_(options),
      iterations_of_(iterations_of),
      happenings_(happenings),
      trace_(trace),
      random_(seed, "head worker", static_cast<uint64_t>(options.index)) {}

void HeadWorker::Start() {
  ++life_;
  is_alive_ = true;
  free_cpu_milli_ = options_.cpus * kWholeMilli;
  if (!options_.is_local) {
    session_ = "s" + std::to_string(options_.index) + "." + std::to_string(life_);
  }
}

void HeadWorker::Kill() {
  // Its machine may have seen that its processes have ended with it, or not yet.
  if (!session_.empty() && random_.NextBelow(2) == 0) ended_sessions_.push_back(session_);
  is_alive_ = false;
  ++life_;
  send_ = nullptr;
  knows_.clear();
  unfit_.clear();
  attempts_.clear();
  ahead_.clear();
}

void HeadWorker::Connect(SendUp send) {
  send_ = std::move(send);
  ++connection_;
  end_count_ = 0;
  idle_.clear();
  said_ends_.clear();
  Hello hello;
  hello.name = options_.is_local ? kLocalWorkerName : "w" + std::to_string(options_.index);
  hello.host = "10.0.0." + std::to_string(options_.index);
  hello.pid = life_;
  hello.capacity.cpu_milli = options_.cpus * kWholeMilli;
  hello.is_local = options_.is_local;
  hello.session = session_;
  hello.ended_sessions = ended_sessions_;
  for (const auto& [ref, attempt] : attempts_) {
    hello.held.push_back({ref, attempt.end ? 0 : attempt.start.cpu_milli, {}});
  }
  is_up_ = false;
  send_(std::move(hello));
}

void HeadWorker::Disconnect() { send_ = nullptr; }

void HeadWorker::Send(FromWorker message) {
  if (send_ != nullptr && is_up_) send_(std::move(message));
}

void HeadWorker::Beat() {
  if (heartbeat_.us == 0) return;
  happenings_.After(heartbeat_, [this, life = life_, connection = connection_] {
    if (life != life_ || connection != connection_ || send_ == nullptr) return;
    Send(Heartbeat{});
    Beat();
  });
}

void HeadWorker::On(const ToWorker& message) {
  if (const auto* const welcome = std::get_if<Welcome>(&message)) {
    Welcomed(*welcome);
  } else if (const auto* const info = std::get_if<SweepInfo>(&message)) {
    knows_.insert(info->sweep);
  } else if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    Take(*start);
  } else if (const auto* const answer = std::get_if<AnswerReport>(&message)) {
    Answered(*answer);
  } else if (const auto* const kill = std::get_if<KillAttempt>(&message)) {
    ToldToDie(*kill);
  } else if (const auto* const ends = std::get_if<EndsAcknowledged>(&message)) {
    for (; !said_ends_.empty() &&
           end_count_ - static_cast<int64_t>(said_ends_.size()) < ends->ends_seen;
         said_ends_.pop_front()) {
      attempts_.erase(said_ends_.front());
    }
  } else if (const auto* const over = std::get_if<SweepOver>(&message)) {
    Forget(over->sweep);
  } else if (std::holds_alternative<Shutdown>(message)) {
    Send(Goodbye{"it was told to"});
    Kill();
  }
}

// What it still holds goes on, with what was not answered; the rest is over.
void HeadWorker::Welcomed(const Welcome& welcome) {
  is_up_ = true;
  heartbeat_ = Milliseconds(welcome.heartbeat_ms);
  Beat();
  std::set<ExperimentId> before = std::exchange(knows_, {});
  for (const SweepInfo& info : welcome.sweeps) knows_.insert(info.sweep);
  for (const auto& [ref, attempt] : attempts_) before.insert(ref.sweep);
  for (const ExperimentId sweep : before) {
    if (!knows_.contains(sweep)) Forget(sweep);
  }
  std::erase_if(unfit_, [this](const auto& entry) { return !knows_.contains(entry.first); });
  for (const auto& [sweep, why] : unfit_) Send(SweepUnfit{sweep, why});
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.unanswered) Send(*attempt.unanswered);
  }
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.end) SayEnd(*attempt.end);
  }
}

void HeadWorker::BecomeUnfit() {
  if (send_ == nullptr || knows_.empty() || options_.is_local) return;
  auto sweep = knows_.begin();
  std::advance(sweep, random_.NextBelow(knows_.size()));
  if (const auto known = unfit_.find(*sweep); known != unfit_.end() && !known->second.empty())
    return;
  unfit_[*sweep] = "it has no python3";
  Send(SweepUnfit{*sweep, unfit_[*sweep]});
  for (auto& [ref, attempt] : attempts_) {
    if (ref.sweep != *sweep || attempt.end) continue;
    attempt.is_to_die = true;
    if (!attempt.unanswered) Wake(ref);
  }
}

void HeadWorker::BecomeFit() {
  for (auto& [sweep, why] : unfit_) {
    if (!std::exchange(why, "").empty()) Send(SweepUnfit{sweep, ""});
  }
}

void HeadWorker::Forget(ExperimentId sweep) {
  knows_.erase(sweep);
  unfit_.erase(sweep);
  for (const auto& [ref, attempt] : attempts_) {
    if (ref.sweep == sweep && !attempt.end) free_cpu_milli_ += attempt.start.cpu_milli;
  }
  std::erase_if(attempts_, [sweep](const auto& entry) { return entry.first.sweep == sweep; });
  std::erase_if(ahead_, [sweep](const StartAttempt& start) { return start.ref.sweep == sweep; });
}

void HeadWorker::Take(const StartAttempt& start) {
  while (!idle_.empty() && idle_.front().first <= start.ends_seen) idle_.pop_front();
  if (!start.ahead) return Begin(start);
  if (!options_.is_local) trace_.Fail("a lease ahead went to a worker of another machine");
  if (idle_.empty()) return ahead_.push_back(start);
  StartAttempt begins = start;
  begins.cpu_milli = idle_.front().second;
  idle_.pop_front();
  Begin(begins);
}

void HeadWorker::Begin(const StartAttempt& start) {
  const std::string which = "trial " + std::to_string(start.ref.trial.value) + " of sweep " +
                            std::to_string(start.ref.sweep.value);
  if (attempts_.contains(start.ref)) return;  // It was sent again.
  if (!knows_.contains(start.ref.sweep)) {
    return trace_.Fail("a worker is to run " + which + ", a sweep that it was never told of");
  }
  if (start.cpu_milli > free_cpu_milli_ || start.cpu_milli <= 0) {
    return trace_.Fail("worker " + std::to_string(options_.index) + " has " +
                       std::to_string(free_cpu_milli_) + " thousandths of a CPU free, and " +
                       which + " is to run on " + std::to_string(start.cpu_milli));
  }
  free_cpu_milli_ -= start.cpu_milli;
  const auto unfit = unfit_.find(start.ref.sweep);
  const bool is_unfit = unfit != unfit_.end() && !unfit->second.empty();  // It crossed on the way.
  attempts_[start.ref] = {start, start.from_iteration, 0, {}, false, is_unfit, {}};
  Wake(start.ref);
}

void HeadWorker::Wake(const AttemptRef& ref) {
  const Duration wait = Seconds(options_.iteration_time.seconds() * random_.NextUniform(0.5, 2));
  happenings_.After(wait, [this, life = life_, ref] {
    if (life == life_) Advance(ref);
  });
}

void HeadWorker::Advance(const AttemptRef& ref) {
  const auto found = attempts_.find(ref);
  if (found == attempts_.end() || found->second.end || found->second.unanswered) return;
  Attempt& attempt = found->second;
  if (attempt.is_to_die) return End(ref, Outcome::kPreempted);
  if (attempt.is_to_stop) return End(ref, Outcome::kStopped);
  if (random_.NextDouble() < options_.crash) return End(ref, Outcome::kCrashed);
  if (attempt.iteration >= iterations_of_(ref.sweep)) return End(ref, Outcome::kCompleted);
  Report(attempt);
}

void HeadWorker::Report(Attempt& attempt) {
  AttemptReport message;
  message.ref = attempt.start.ref;
  message.sequence = ++attempt.sequence;
  message.report.iteration = ++attempt.iteration;
  message.report.metrics = {{"v", ValueAt(attempt.start.config, attempt.iteration)}};
  message.report.final = attempt.iteration == iterations_of_(message.ref.sweep);
  message.report.has_checkpoint = true;
  message.report.checkpoint.path = attempt.start.artifact_dir + "/checkpoint_" +
                                   std::to_string(attempt.iteration) + "." +
                                   std::to_string(message.ref.attempt.value);
  attempt.unanswered = message;
  Send(std::move(message));
}

void HeadWorker::Answered(const AnswerReport& answer) {
  const auto found = attempts_.find(answer.ref);
  if (found == attempts_.end() || found->second.end) return;
  Attempt& attempt = found->second;
  if (!attempt.unanswered || attempt.unanswered->sequence != answer.sequence) return;
  attempt.unanswered.reset();
  if (answer.answer == ReportAnswer::kRefused) return End(answer.ref, Outcome::kPreempted);
  if (!GoesOn(answer.answer)) attempt.is_to_stop = true;
  Wake(answer.ref);
}

void HeadWorker::ToldToDie(const KillAttempt& kill) {
  const auto found = attempts_.find(kill.ref);
  if (found != attempts_.end()) {
    if (found->second.end) return;
    found->second.is_to_die = true;
    // What it says no more is not waited for.
    if (kill.at_once) {
      found->second.unanswered.reset();
      return End(kill.ref, Outcome::kPreempted);
    }
    return Wake(kill.ref);
  }
  const auto is_it = [&](const StartAttempt& start) { return start.ref == kill.ref; };
  if (std::erase_if(ahead_, is_it) == 0) return;
  ++end_count_;
  said_ends_.push_back(kill.ref);
  Send(AttemptEnded{kill.ref, Outcome::kPreempted, ""});
}

void HeadWorker::End(const AttemptRef& ref, Outcome outcome) {
  Attempt& attempt = attempts_.at(ref);
  attempt.end = AttemptEnded{ref, outcome, outcome == Outcome::kCrashed ? "exit status 1" : ""};
  free_cpu_milli_ += attempt.start.cpu_milli;
  const int64_t cpu_milli = attempt.start.cpu_milli;
  SayEnd(*attempt.end);
  // Of a local worker nothing is said twice.
  if (options_.is_local) attempts_.erase(ref);
  if (ahead_.empty()) return idle_.emplace_back(end_count_, cpu_milli), void();
  StartAttempt next = std::move(ahead_.front());
  ahead_.pop_front();
  next.cpu_milli = cpu_milli;
  Begin(next);
}

// Without a connection it is said at the next one.
void HeadWorker::SayEnd(const AttemptEnded& end) {
  if (send_ == nullptr || !is_up_) return;
  ++end_count_;
  said_ends_.push_back(end.ref);
  Send(end);
}

}  // namespace tune::sim
