#include "tuner/cli/words/time_left.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {
namespace {

using State = TrialPace::State;

constexpr int kPlayCount = 80;
constexpr int64_t kTrialsPlayedMax = 256;  // Of more that wait, the time is scaled.
constexpr size_t kPacesMax = 512;          // The latest trials' are drawn from.
constexpr double kKnownShareTrials = 12;   // What a scheduler's own share counts at each rung,
constexpr double kSeenShareTrials = 2;     // and what the share that all rungs let through does.
constexpr double kMargin = 0.1;            // Of the result: machines do not run evenly.

struct Level {
  int64_t iteration = 0;
  int64_t reached = 0;  // Trials that came to it and are over, paused, or further.
  int64_t passed = 0;   // Of those.
  bool is_rung = false;
};

// How far trials come: the iterations where some ended, and the rungs.
class Lengths {
 public:
  Lengths(const SweepPace& pace, int64_t longest) : longest_(longest) {
    struct Count {
      int64_t stay = 0;  // Their last iteration is this one.
      int64_t pass = 0;  // They are at it and go on.
      bool is_rung = false;
    };
    std::map<int64_t, Count> counts;  // By iteration.
    for (const int64_t rung : pace.rungs) counts[rung].is_rung = true;
    for (const TrialPace& trial : pace.trials) {
      const bool stays = trial.state == State::kOver || trial.state == State::kPaused;
      if (stays || trial.iterations > 0)
        (stays ? counts[trial.iterations].stay : counts[trial.iterations].pass) += 1;
    }
    int64_t beyond = 0;
    for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
      const Count& count = it->second;
      const int64_t passed = beyond + count.pass;
      beyond = passed + count.stay;
      if (it->first < longest && (count.stay > 0 || count.is_rung))
        levels_.push_back({it->first, beyond, passed, count.is_rung});
    }
    std::reverse(levels_.begin(), levels_.end());
    int64_t reached = 0, passed = 0;
    for (const Level& level : levels_) {
      reached += level.is_rung ? level.reached : 0;
      passed += level.is_rung ? level.passed : 0;
    }
    const double seen = (static_cast<double>(passed) + 1) / (static_cast<double>(reached) + 2);
    rung_share_ = pace.rung_share.value_or(seen);
    rung_weight_ = pace.rung_share ? kKnownShareTrials : kSeenShareTrials;
  }

  // What shares of the trials pass each level, as well as so few trials can tell.
  std::vector<double> DrawShares(KeyedRandom& random) const {
    std::vector<double> shares;
    for (const Level& level : levels_) {
      const double weight = level.is_rung ? rung_weight_ : 0;
      const auto reached = static_cast<double>(level.reached);
      const double count = reached + weight;
      const double mean =
          count > 0 ? (static_cast<double>(level.passed) + weight * rung_share_) / count : 1;
      const double deviation = std::sqrt(mean * (1 - mean) / (reached + 2));
      shares.push_back(std::clamp(mean + deviation * random.NextNormal(), 0.0, 1.0));
    }
    return shares;
  }

  // Of a trial that is at `from` and goes on.
  int64_t Draw(int64_t from, const std::vector<double>& shares, KeyedRandom& random) const {
    for (size_t i = 0; i < levels_.size(); ++i) {
      if (levels_[i].iteration <= from && levels_[i].iteration > 0) continue;
      if (random.NextDouble() >= shares[i]) return levels_[i].iteration;
    }
    return std::max(longest_, from + 1);
  }

 private:
  const int64_t longest_;
  double rung_share_ = 0.5;
  double rung_weight_ = 0;
  std::vector<Level> levels_;
};

// The paces that were seen, each as often as iterations were trained at it.
class Paces {
 public:
  explicit Paces(const std::vector<TrialPace>& trials);
  bool is_empty() const { return seconds_.empty(); }
  double Draw(KeyedRandom& random) const {
    const auto iteration =
        static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(ends_.back())));
    const auto found = std::upper_bound(ends_.begin(), ends_.end(), iteration);
    return seconds_[static_cast<size_t>(found - ends_.begin())];
  }

 private:
  std::vector<double> seconds_;
  std::vector<int64_t> ends_;  // Iterations up to and with each.
};

double SecondsAnIteration(const TrialPace& trial) {
  if (trial.state == State::kRunning && trial.report_time && trial.report_time->us > 0) {
    // One that is silent for longer than all it has reported took has become slower.
    const int64_t silent_us = trial.run_time.us - trial.report_time->us;
    return Duration{std::max(trial.report_time->us, silent_us)}.seconds() /
           static_cast<double>(trial.iterations);
  }
  // A running trial is in the midst of its next one.
  const double done =
      static_cast<double>(trial.iterations) + (trial.state == State::kRunning ? 0.5 : 0);
  return trial.run_time.seconds() / done;
}

Paces::Paces(const std::vector<TrialPace>& trials) {
  for (auto trial = trials.rbegin(); trial != trials.rend() && seconds_.size() < kPacesMax;
       ++trial) {
    if (trial->iterations == 0 || trial->run_time.us <= 0) continue;
    seconds_.push_back(SecondsAnIteration(*trial));
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + trial->iterations);
  }
}

// One end of the sweep, in seconds from now.
double Play(const SweepPace& pace, const Lengths& lengths, const Paces& paces, int64_t waiting,
            int64_t play) {
  KeyedRandom random(0, "time left", static_cast<uint64_t>(play));
  const std::vector<double> shares = lengths.DrawShares(random);
  std::priority_queue<double, std::vector<double>, std::greater<>> places;  // When each is free.
  std::vector<int64_t> open;  // Where trials begin that wait.
  for (const TrialPace& trial : pace.trials) {
    if (trial.state == State::kOpen) open.push_back(trial.iterations);
    if (trial.state != State::kRunning) continue;
    const double an_iteration =
        trial.iterations > 0 ? SecondsAnIteration(trial) : paces.Draw(random);
    const int64_t length = lengths.Draw(trial.iterations, shares, random);
    const double left = static_cast<double>(length - trial.iterations) * an_iteration;
    // What it has done of the iteration that it is in.
    const double begun =
        trial.run_time.seconds() - static_cast<double>(trial.iterations) * an_iteration;
    places.push(std::max(left - std::max(begun, 0.0), 0.1 * left));
  }
  const int64_t played = std::min(waiting, kTrialsPlayedMax);
  double end = 0;
  double begin = places.top();
  for (int64_t i = 0; i < played; ++i) {
    const int64_t from =
        i < static_cast<int64_t>(open.size()) ? open[static_cast<size_t>(i)] : int64_t{0};
    const double free = places.top();
    places.pop();
    const int64_t length = lengths.Draw(from, shares, random);
    places.push(free + static_cast<double>(length - from) * paces.Draw(random));
    begin = free;
  }
  for (; !places.empty(); places.pop()) end = std::max(end, places.top());
  if (played == 0) return end;
  return end + begin * (static_cast<double>(waiting) / static_cast<double>(played) - 1);
}

// The longest trial that ended, where nobody says how long one is.
std::optional<int64_t> Longest(const SweepPace& pace) {
  if (pace.longest) return pace.longest;
  int64_t longest = 0;
  int64_t running = 0;
  for (const TrialPace& trial : pace.trials) {
    int64_t& most = trial.state == State::kOver ? longest : running;
    most = std::max(most, trial.iterations);
  }
  if (longest == 0) return std::nullopt;
  return std::max(longest, running + (running >= longest ? 1 : 0));
}

}  // namespace

TrialPace::State PaceState(TrialStatus status) {
  switch (status) {
    case TrialStatus::kPending:
      return State::kOpen;
    case TrialStatus::kRunning:
      return State::kRunning;
    case TrialStatus::kPaused:
      return State::kPaused;
    case TrialStatus::kTerminated:
    case TrialStatus::kError:
      return State::kOver;
  }
  return State::kOver;
}

std::optional<int64_t> LongestTrial(const ExperimentSpec& spec) {
  std::optional<int64_t> longest = SchedulerMaxT(spec.scheduler);
  for (const StopCondition& stop : spec.stop) {
    constexpr double kNoEnd = 0x1p63;  // No count of iterations comes to it.
    if (stop.metric != "training_iteration" || !stop.at_or_above || stop.value >= kNoEnd) continue;
    const auto iterations = static_cast<int64_t>(std::ceil(stop.value));
    longest = std::min(longest.value_or(iterations), iterations);
  }
  return longest;
}

std::optional<double> RungShare(const ExperimentSpec& spec) {
  if (!spec.scheduler.is_map()) return std::nullopt;
  for (const MapEntry& entry : spec.scheduler.AsMap()) {
    const bool halves = entry.key == "asha" || entry.key == "pasha" || entry.key == "hyperband";
    if (!halves || !entry.value.is_map()) continue;
    const Value* const factor = entry.value.Find("reduction_factor");
    const std::optional<double> number = factor == nullptr ? std::nullopt : ReadNumber(*factor);
    if (number && *number > 1) return 1 / *number;
  }
  return std::nullopt;
}

std::optional<TimeLeft> EstimateTimeLeft(const SweepPace& pace) {
  const std::optional<int64_t> longest = Longest(pace);
  if (!longest || pace.samples < 0) return std::nullopt;
  const Paces paces(pace.trials);
  int64_t running = 0;
  int64_t waiting = pace.samples - static_cast<int64_t>(pace.trials.size());
  for (const TrialPace& trial : pace.trials) {
    running += trial.state == State::kRunning ? 1 : 0;
    waiting += trial.state == State::kOpen ? 1 : 0;
  }
  if (running == 0 || paces.is_empty()) return std::nullopt;
  const Lengths lengths(pace, *longest);
  std::vector<double> ends;
  for (int play = 0; play < kPlayCount; ++play)
    ends.push_back(Play(pace, lengths, paces, std::max<int64_t>(waiting, 0), play));
  std::sort(ends.begin(), ends.end());
  return TimeLeft{Seconds(ends[kPlayCount / 10] * (1 - kMargin)),
                  Seconds(ends[kPlayCount - 1 - kPlayCount / 10] * (1 + kMargin))};
}

namespace {

struct Unit {
  int64_t seconds;
  const char* name;
  int64_t step;  // In seconds: what an amount below the next unit is rounded to.
};

// From 90 of a unit on, the next one is said.
const Unit& UnitOf(double seconds) {
  static constexpr Unit kUnits[] = {
      {1, "s", 5}, {60, "min", 60}, {3600, "h", 1800}, {86400, "d", 43200}};
  const Unit* unit = &kUnits[0];
  if (seconds >= 90) unit = &kUnits[1];
  if (seconds >= 90 * 60) unit = &kUnits[2];
  if (seconds >= 48 * 3600) unit = &kUnits[3];
  return *unit;
}

std::string Amount(double seconds, const Unit& unit) {
  const double steps = std::max(1.0, std::round(seconds / static_cast<double>(unit.step)));
  const double amount = steps * static_cast<double>(unit.step) / static_cast<double>(unit.seconds);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", amount);
  return text;
}

}  // namespace

std::string Describe(const TimeLeft& left) {
  const double low = left.low.seconds();
  const double high = left.high.seconds();
  const Unit& low_unit = UnitOf(low);
  const Unit& high_unit = UnitOf(high);
  const std::string low_amount = Amount(low, low_unit);
  const std::string high_amount = Amount(high, high_unit);
  if (high < 3) return "seconds left";
  if (&low_unit != &high_unit) {
    return low_amount + " " + low_unit.name + " to " + high_amount + " " + high_unit.name + " left";
  }
  if (low_amount == high_amount) return "about " + low_amount + " " + low_unit.name + " left";
  return low_amount + " to " + high_amount + " " + low_unit.name + " left";
}

}  // namespace tune
