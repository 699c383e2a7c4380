#include "tests/sim/plain_schedulers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/standing.h"
#include "core/value.h"

namespace tune::sim {
namespace {

std::string NameOf(TrialNumber trial) { return "trial " + std::to_string(trial.value); }

bool IsOver(TrialStatus status) {
  return status == TrialStatus::kTerminated || status == TrialStatus::kError;
}

// In a sweep with limits on results one that breaks them is behind every value, the further the
// more it does.
Metric RankedOf(const ReportRow& row, Mode mode) {
  const Metric violation = FindMetric(row.metrics, kViolationName);
  if (!row.value || violation.value_or(0) == 0) return row.value;
  return AsLoss(kRankedPerViolation * *violation, mode);
}

Metric WithoutNan(Metric value) { return value && std::isnan(*value) ? std::nullopt : value; }

std::string Text(const Decision& decision) {
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : "-"; };
  return "verdict " + std::to_string(static_cast<int>(decision.verdict)) + " cause " +
         std::to_string(static_cast<int>(decision.cause)) + " rung " + number(decision.rung) +
         " cutoff " + number(decision.cutoff) + " rank " + number(decision.rank) + " count " +
         number(decision.count);
}

int64_t IntOption(const Value& options, const char* name, int64_t fallback) {
  const Value* const value = options.is_map() ? options.Find(name) : nullptr;
  return value == nullptr ? fallback : value->AsInt();
}

// ASHA's rungs; bracket s leaves out the s lowest.
struct Ladder {
  int64_t max_t = 0;
  int64_t factor = 0;
  int64_t bracket_count = 0;
  std::vector<int64_t> levels;
  uint64_t seed = 0;

  Ladder(const Value& options, uint64_t seed_of_sweep)
      : max_t(IntOption(options, "max_t", 100)),
        factor(IntOption(options, "reduction_factor", 4)),
        bracket_count(IntOption(options, "brackets", 1)),
        seed(seed_of_sweep) {
    const int64_t grace = IntOption(options, "grace_period", 1);
    for (int64_t level = grace; level <= max_t; level *= factor) levels.push_back(level);
  }

  int64_t BracketOf(TrialNumber trial) const {
    double sum = 0;
    for (int64_t s = 0; s < bracket_count; ++s) sum += std::exp(-static_cast<double>(s));
    KeyedRandom random(seed, "bracket", static_cast<uint64_t>(trial.value));
    double u = random.NextUniform(0, sum);
    for (int64_t s = 0; s + 1 < bracket_count; ++s) {
      u -= std::exp(-static_cast<double>(s));
      if (u < 0) return s;
    }
    return bracket_count - 1;
  }
};

// The stopping form.
class PlainAsha {
 public:
  explicit PlainAsha(Ladder ladder, Mode mode) : ladder_(std::move(ladder)), mode_(mode) {}

  Decision Decide(TrialNumber trial, int64_t iteration, Metric value) {
    Decision decision;
    const int64_t bracket = ladder_.BracketOf(trial);
    // The highest milestone at or below the iteration, if the trial has not passed it before.
    std::optional<int64_t> milestone;
    for (size_t i = static_cast<size_t>(bracket); i < ladder_.levels.size(); ++i) {
      if (ladder_.levels[i] <= iteration) milestone = ladder_.levels[i];
    }
    int64_t& passed = passed_[trial];
    if (milestone && *milestone > passed) {
      passed = *milestone;
      decision.rung = milestone;
      if (value) {
        std::vector<double>& rung = rungs_[{bracket, *milestone}];
        decision.cutoff = Percentile(rung);
        int64_t better = 0;
        for (const double other : rung) better += IsBetter(other, *value, mode_) ? 1 : 0;
        rung.push_back(*value);
        decision.rank = better + 1;
        decision.count = static_cast<int64_t>(rung.size());
        if (decision.cutoff && IsBetter(*decision.cutoff, *value, mode_)) {
          decision.verdict = Verdict::kStop;
          decision.cause = StopCause::kScheduler;
        }
      } else {
        const std::vector<double>& rung = rungs_[{bracket, *milestone}];
        decision.verdict = Verdict::kStop;
        decision.cause = StopCause::kScheduler;
        decision.cutoff = Percentile(rung);
        decision.rank = decision.count = static_cast<int64_t>(rung.size()) + 1;
      }
    }
    if (iteration >= ladder_.max_t) {
      decision.verdict = Verdict::kStop;
      decision.cause = StopCause::kMaxT;
    }
    return decision;
  }

 private:
  // Percentile 1 - 1 / factor from the worst, interpolated.
  std::optional<double> Percentile(std::vector<double> values) const {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end(),
              [this](double a, double b) { return IsBetter(b, a, mode_); });
    const auto places = static_cast<int64_t>(values.size() - 1) * (ladder_.factor - 1);
    const double a = values[static_cast<size_t>(places / ladder_.factor)];
    if (places % ladder_.factor == 0) return a;
    const double b = values[static_cast<size_t>(places / ladder_.factor + 1)];
    if (!std::isfinite(a) || !std::isfinite(b)) return a;
    const double t =
        static_cast<double>(places % ladder_.factor) / static_cast<double>(ladder_.factor);
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
  }

  const Ladder ladder_;
  const Mode mode_;
  std::map<TrialNumber, int64_t> passed_;
  std::map<std::pair<int64_t, int64_t>, std::vector<double>> rungs_;
};

Status CheckStopping(const CommitLog& log, const Value& options) {
  PlainAsha asha(Ladder(options, log.experiment()->seed), log.spec().mode);
  for (const CommitLog::Turn& turn : log.turns()) {
    for (const ReportRow* const row : turn.reports) {
      const Decision plain =
          asha.Decide(row->trial, row->iteration, RankedOf(*row, log.spec().mode));
      if (plain == *row->decision) continue;
      return Internal("the decision about " + NameOf(row->trial) + " at iteration " +
                      std::to_string(row->iteration) + " is " + Text(*row->decision) +
                      ", a plain re-computation makes it " + Text(plain));
    }
  }
  return OkStatus();
}

// The promoting form: of the n that finished a rung, the floor(n / factor) best are promoted.
class PlainPromotion {
 public:
  PlainPromotion(Ladder ladder, Mode mode) : ladder_(std::move(ladder)), mode_(mode) {}

  Status Take(const CommitLog::Turn& turn) {
    ++turn_;
    for (const ReportRow* row : turn.reports) {
      const bool is_over =
          std::any_of(turn.statuses.begin(), turn.statuses.end(), [row](const auto& status) {
            return status.first == row->trial && IsOver(status.second);
          });
      TUNE_RETURN_IF_ERROR(TakeReport(*row, is_over));
    }
    ended_.clear();
    for (const TrialNumber trial : turn.ended) {
      if (const auto next = NextRung(trial)) ++ended_[*next];
    }
    for (const auto& [trial, status] : turn.statuses) TakeStatus(trial, status);
    for (const OrderRow& row : turn.orders) TUNE_RETURN_IF_ERROR(TakeOrder(row.order));
    for (const RungKey& key : std::exchange(changed_, {})) {
      TUNE_RETURN_IF_ERROR(CheckNobodyIsLeftBehind(rungs_[key]));
    }
    return OkStatus();
  }

 private:
  using RungKey = std::pair<int64_t, size_t>;  // Bracket, level.
  struct Finished {
    TrialNumber trial;
    Metric value;
    int64_t turn;
  };
  struct Rung {
    std::vector<Finished> finished;
    std::set<TrialNumber> failed;  // On the way to it, and not begun again: the worst of all.
    size_t failed_before = 0;      // At the beginning of this turn.
    int64_t turn = 0;
  };
  struct Trial {
    size_t passed_count = 0;          // Levels that it has passed.
    std::optional<RungKey> waits_at;  // Paused there.
    bool is_over = false;
    std::optional<RungKey> failed_at;
  };

  bool IsBefore(const Finished& a, const Finished& b) const {
    if (!a.value || !b.value) return a.value.has_value() && !b.value;
    if (*a.value != *b.value) return IsBetter(*a.value, *b.value, mode_);
    return a.trial < b.trial;
  }

  Rung& Touch(const RungKey& key) {
    Rung& rung = rungs_[key];
    if (rung.turn != turn_) rung.failed_before = rung.failed.size();
    rung.turn = turn_;
    changed_.insert(key);
    return rung;
  }

  // `is_over`: the trial, by the end of the turn.
  Status TakeReport(const ReportRow& row, bool is_over) {
    Trial& trial = trials_[row.trial];
    const int64_t bracket = ladder_.BracketOf(row.trial);
    trial.passed_count = std::max(trial.passed_count, static_cast<size_t>(bracket));
    std::optional<size_t> level;
    while (trial.passed_count < ladder_.levels.size() &&
           ladder_.levels[trial.passed_count] <= row.iteration) {
      level = trial.passed_count++;
    }
    const bool is_last = row.iteration >= ladder_.max_t;
    // The last report of one that ends by itself fills no rung.
    if (level && !is_last && is_over && *row.decision == Decision{}) return OkStatus();
    const Verdict verdict = is_last ? Verdict::kStop : level ? Verdict::kPause : Verdict::kContinue;
    if (row.decision->verdict != verdict) {
      return Internal(NameOf(row.trial) + " at iteration " + std::to_string(row.iteration) +
                      " is decided as " + Text(*row.decision) + ", by the rule it is " +
                      Text(Decision{verdict}));
    }
    if (!level) return OkStatus();
    const RungKey key{bracket, *level};
    Touch(key).finished.push_back({row.trial, WithoutNan(RankedOf(row, mode_)), turn_});
    if (!is_last) trial.waits_at = key;
    return OkStatus();
  }

  void TakeStatus(TrialNumber number, TrialStatus status) {
    Trial& trial = trials_[number];
    trial.is_over = IsOver(status);
    if (status == TrialStatus::kError && !trial.waits_at && !trial.failed_at) {
      trial.failed_at = NextRung(number);
      if (!trial.failed_at) return;
      Touch(*trial.failed_at).failed.insert(number);
    } else if (status != TrialStatus::kError && trial.failed_at) {
      Touch(*trial.failed_at).failed.erase(number);
      trial.failed_at.reset();
    }
  }

  // That it is on the way to.
  std::optional<RungKey> NextRung(TrialNumber number) {
    const int64_t bracket = ladder_.BracketOf(number);
    const size_t next = std::max(trials_[number].passed_count, static_cast<size_t>(bracket));
    return next == ladder_.levels.size() ? std::nullopt : std::optional(RungKey{bracket, next});
  }

  size_t PassingCount(size_t count) const { return count / static_cast<size_t>(ladder_.factor); }

  // It was among the best at some moment of this turn, whatever the order of its events.
  Status TakeOrder(const Order& order) {
    Trial& trial = trials_[order.trial];
    if (!trial.waits_at || order.kind != Order::Kind::kResume) {
      return Internal(NameOf(order.trial) + " got an order that no rule gives");
    }
    const RungKey key = *std::exchange(trial.waits_at, std::nullopt);
    const Rung& rung = Touch(key);
    const auto own = std::find_if(rung.finished.begin(), rung.finished.end(),
                                  [&](const Finished& f) { return f.trial == order.trial; });
    const auto better = std::count_if(
        rung.finished.begin(), rung.finished.end(),
        [&](const Finished& other) { return other.turn < turn_ && IsBefore(other, *own); });
    // Of one that failed and is tried again by the user's wish in one turn, no row says so.
    const size_t failed_max = std::max(rung.failed_before + ended_[key], rung.failed.size());
    const size_t passing = PassingCount(rung.finished.size() + failed_max);
    if (own->value && static_cast<size_t>(better) < passing) return OkStatus();
    return Internal(NameOf(order.trial) + " was promoted from the rung " +
                    std::to_string(*order.rung) + ", where " + std::to_string(better) +
                    " are better and " + std::to_string(passing) + " pass");
  }

  Status CheckNobodyIsLeftBehind(const Rung& rung) {
    std::vector<Finished> sorted = rung.finished;
    std::sort(sorted.begin(), sorted.end(),
              [this](const Finished& a, const Finished& b) { return IsBefore(a, b); });
    const size_t passing = PassingCount(sorted.size() + rung.failed.size());
    for (size_t i = 0; i < std::min(passing, sorted.size()) && sorted[i].value; ++i) {
      const Trial& trial = trials_[sorted[i].trial];
      const bool waits_here = trial.waits_at && !trial.is_over && &rungs_[*trial.waits_at] == &rung;
      if (!waits_here) continue;
      return Internal(NameOf(sorted[i].trial) + " is number " + std::to_string(i + 1) + " of " +
                      std::to_string(sorted.size() + rung.failed.size()) +
                      " in its rung and was not promoted");
    }
    return OkStatus();
  }

  const Ladder ladder_;
  const Mode mode_;
  int64_t turn_ = 0;
  std::map<RungKey, Rung> rungs_;
  std::map<TrialNumber, Trial> trials_;
  std::set<RungKey> changed_;        // In this turn.
  std::map<RungKey, size_t> ended_;  // Attempts on the way to it, in this turn.
};

// Hyperband whose trials wait: a sweep in which no trial was begun again and that was not extended,
// so that trial n is in the bracket that n trials before it leave.
class PlainHyperband {
 public:
  PlainHyperband(const Value& options, Mode mode)
      : factor_(IntOption(options, "reduction_factor", 3)), mode_(mode) {
    int64_t level_count = 0;
    for (int64_t t = IntOption(options, "max_t", 81); t > 0; t /= factor_) ++level_count;
    // s halvings: ceil((s_max + 1) * factor^s / (s + 1)) trials.
    for (int64_t s = level_count - 1; s >= 0; --s) {
      int64_t power = 1;
      for (int64_t i = 0; i < s; ++i) power *= factor_;
      sizes_.push_back((level_count * power + s) / (s + 1));
    }
  }

  Status Take(const CommitLog::Turn& turn) {
    for (const TrialNumber trial : turn.added) Add(trial);
    for (const auto& [trial, status] : turn.statuses) trials_[trial].is_over = IsOver(status);
    for (const ReportRow* row : turn.reports) {
      if (row->decision->verdict != Verdict::kPause) continue;
      trials_[row->trial].waits = true;
      trials_[row->trial].value = WithoutNan(RankedOf(*row, mode_));
      // Its own end can have followed in the same turn, before what was ordered for it.
      if (trials_[row->trial].is_over) brackets_[trials_[row->trial].bracket].lost_order = true;
    }
    std::map<size_t, std::vector<const Order*>> orders;
    for (const OrderRow& row : turn.orders) {
      orders[trials_[row.order.trial].bracket].push_back(&row.order);
    }
    for (const auto& [bracket, of_it] : orders) TUNE_RETURN_IF_ERROR(Decide(bracket, of_it));
    for (size_t i = 0; i < brackets_.size(); ++i) {
      TUNE_RETURN_IF_ERROR(CheckNobodyWaitsForNothing(i));
    }
    return OkStatus();
  }

 private:
  struct Trial {
    size_t bracket = 0;
    bool waits = false;
    bool is_over = false;
    Metric value;
  };
  struct Bracket {
    int64_t planned = 0;
    std::vector<TrialNumber> trials;
    int64_t entered = 0;  // The rung that it is at.
    bool lost_order = false;
    bool is_full() const { return static_cast<int64_t>(trials.size()) == planned; }
  };

  void Add(TrialNumber trial) {
    if (brackets_.empty() || brackets_.back().is_full()) {
      brackets_.push_back(Bracket{sizes_[brackets_.size() % sizes_.size()], {}, 0});
    }
    brackets_.back().trials.push_back(trial);
    ++brackets_.back().entered;
    trials_[trial].bracket = brackets_.size() - 1;
  }

  Status Decide(size_t index, const std::vector<const Order*>& orders) {
    Bracket& bracket = brackets_[index];
    std::vector<const Order*> passed, stopped;
    for (const Order* order : orders) {
      (order->kind == Order::Kind::kResume ? passed : stopped).push_back(order);
      if (!std::exchange(trials_[order->trial].waits, false)) {
        return Internal(NameOf(order->trial) + " got an order, but does not wait");
      }
    }
    const auto is_worse = [&](const Order* a, const Order* b) {
      const Metric& x = trials_[a->trial].value;
      const Metric& y = trials_[b->trial].value;
      if (!x || !y) return !x && (y || b->trial < a->trial);
      return *x != *y ? IsBetter(*y, *x, mode_) : b->trial < a->trial;
    };
    for (const Order* one : passed) {
      for (const Order* other : stopped) {
        if (trials_[one->trial].value && !is_worse(one, other)) continue;
        return Internal("Hyperband took " + NameOf(one->trial) + " and left the better " +
                        NameOf(other->trial));
      }
    }
    const int64_t passing = std::max<int64_t>(1, bracket.entered / factor_);
    const auto valued = std::count_if(orders.begin(), orders.end(), [&](const Order* order) {
      return trials_[order->trial].value.has_value();
    });
    const auto count = static_cast<int64_t>(passed.size());
    if (!bracket.lost_order && count != std::min<int64_t>(passing, valued)) {
      return Internal("Hyperband took " + std::to_string(count) + " of " +
                      std::to_string(bracket.entered) + " of which " + std::to_string(valued) +
                      " have a value");
    }
    bracket.entered = count;
    for (const TrialNumber trial : bracket.trials) {
      const bool goes_on = std::any_of(passed.begin(), passed.end(), [trial](const Order* order) {
        return order->trial == trial;
      });
      if (trials_[trial].is_over || goes_on) continue;
      return Internal("Hyperband decided a rung without " + NameOf(trial));
    }
    return OkStatus();
  }

  Status CheckNobodyWaitsForNothing(size_t index) {
    const Bracket& bracket = brackets_[index];
    if (!bracket.is_full()) return OkStatus();
    bool someone_waits = false;
    for (const TrialNumber trial : bracket.trials) {
      if (trials_[trial].is_over) continue;
      if (!trials_[trial].waits) return OkStatus();
      someone_waits = true;
    }
    if (!someone_waits) return OkStatus();
    return Internal("all of Hyperband's bracket " + std::to_string(index) +
                    " wait and nothing was decided");
  }

  const int64_t factor_;
  const Mode mode_;
  std::vector<int64_t> sizes_;  // Of the brackets, in the order in which they are filled.
  std::vector<Bracket> brackets_;
  std::map<TrialNumber, Trial> trials_;
};

template <typename Plain>
Status CheckTurns(const CommitLog& log, Plain plain) {
  for (size_t i = 0; i < log.turns().size(); ++i) {
    const Status status = plain.Take(log.turns()[i]);
    if (!status.ok()) return Internal("step " + std::to_string(i + 1) + ": " + status.message());
  }
  return OkStatus();
}

}  // namespace

Status RecomputeDecisions(const CommitLog& log) {
  const Value& scheduler = log.spec().scheduler;
  const uint64_t seed = log.experiment()->seed;
  const Mode mode = log.spec().mode;
  if (!scheduler.is_map()) return OkStatus();
  if (const Value* const asha = scheduler.Find("asha")) {
    if (!asha->is_map() || asha->Find("variant") == nullptr) return CheckStopping(log, *asha);
    return CheckTurns(log, PlainPromotion(Ladder(*asha, seed), mode));
  }
  const Value* const hyperband = scheduler.Find("hyperband");
  const bool is_plain = !log.coverage().contains("the sweep was extended") &&
                        !log.coverage().contains("failed trials were retried");
  if (hyperband == nullptr || !is_plain) return OkStatus();
  return CheckTurns(log, PlainHyperband(*hyperband, mode));
}

}  // namespace tune::sim
