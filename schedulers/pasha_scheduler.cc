#include "schedulers/pasha_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/json.h"
#include "core/option_map.h"
#include "schedulers/rung_levels.h"

namespace tune {
namespace {

using Values = std::vector<std::pair<int64_t, double>>;

// How far apart two curves are where both were reported last, if before that, going backwards, they
// stood the other way round and before that this way again. Where they meet says nothing.
std::optional<double> DistanceIfNoisy(const Values& a, const Values& b) {
  std::optional<double> distance;
  bool was_above = false;
  int changes = 0;
  for (size_t i = a.size(), j = b.size(); i > 0 && j > 0 && changes < 2;) {
    const auto& [time_a, value_a] = a[i - 1];
    const auto& [time_b, value_b] = b[j - 1];
    if (time_a >= time_b) --i;
    if (time_b >= time_a) --j;
    if (time_a != time_b || value_a == value_b) continue;
    const bool is_above = value_a > value_b;
    if (!distance) {
      distance = std::abs(value_a - value_b);
    } else if (is_above != was_above) {
      ++changes;
    }
    was_above = is_above;
  }
  return changes == 2 ? distance : std::nullopt;
}

}  // namespace

PashaScheduler::PashaScheduler(const PashaOptions& options, Mode mode, uint64_t seed)
    : asha_("pasha", AshaBrackets(options.ladder, 1), options.paused_max, mode, seed),
      milestones_(RungLevels(options.ladder.grace_period, options.ladder.max_t,
                             options.ladder.reduction_factor)),
      max_t_(options.ladder.max_t),
      given_epsilon_(options.epsilon),
      mode_(mode),
      epsilon_(options.epsilon.value_or(0)) {
  for (uint32_t k = top_; k < milestones_.size(); ++k) asha_.CloseRung(k);
}

void PashaScheduler::OnTrialAdded(TrialNumber trial) {
  curves_.Add(trial);
  asha_.OnTrialAdded(trial);
}

Decision PashaScheduler::OnReport(TrialNumber trial, int64_t iteration, Metric value) {
  const Decision decision = asha_.OnReport(trial, iteration, value);
  if (!Finite(value)) return decision;
  Curve& curve = curves_[trial];
  curve.values.emplace_back(iteration, *value);
  if (!decision.rung) return decision;
  curve.at_rungs[*decision.rung] = *value;
  if (top_ >= milestones_.size() || *decision.rung != milestones_[top_]) return decision;
  const auto below = curve.at_rungs.find(milestones_[top_ - 1]);
  if (below == curve.at_rungs.end()) return decision;
  if (!given_epsilon_) MeasureNoise(trial);
  climbers_.push_back(Climber{trial, *value, below->second});
  if (!IsRankingStable()) Grow();
  return decision;
}

Decision PashaScheduler::OnLastReport(TrialNumber trial, int64_t iteration, Metric value) {
  return iteration >= max_t_ ? OnReport(trial, iteration, value) : Decision{};
}

void PashaScheduler::MeasureNoise(TrialNumber arrived) {
  const size_t before = distances_.size();
  for (const Climber& climber : climbers_) {
    const auto distance = DistanceIfNoisy(curves_[climber.trial].values, curves_[arrived].values);
    if (distance) distances_.Insert(*distance);
  }
  if (distances_.size() == before) return;
  // 0.9 * (n - 1), exactly.
  const size_t tenths = 9 * (distances_.size() - 1);
  epsilon_ = distances_.At(tenths / 10, static_cast<double>(tenths % 10) / 10);
}

bool PashaScheduler::IsRankingStable() const {
  std::vector<Climber> by_top = climbers_;
  const auto better = [this](double a, double b) { return IsBetter(a, b, mode_); };
  std::sort(by_top.begin(), by_top.end(), [&](const Climber& a, const Climber& b) {
    return a.at_top != b.at_top ? better(a.at_top, b.at_top) : a.trial < b.trial;
  });
  std::vector<double> below;
  for (const Climber& climber : climbers_) below.push_back(climber.below);
  std::sort(below.begin(), below.end(), better);
  for (size_t i = 0; i < by_top.size(); ++i) {
    // Equal infinities have no difference.
    const bool is_near =
        by_top[i].below == below[i] || std::abs(by_top[i].below - below[i]) <= epsilon_;
    if (!is_near) return false;
  }
  return true;
}

void PashaScheduler::Grow() {
  asha_.OpenRung(top_++);
  climbers_.clear();
  distances_ = RankedValues(Mode::kMax);
}

std::vector<RungView> PashaScheduler::Rungs() const {
  std::vector<RungView> rungs = asha_.Rungs();
  rungs.resize(std::min<size_t>(rungs.size(), top_ + 1));
  return rungs;
}

std::string PashaScheduler::DebugString() const {
  return asha_.DebugString() +
         " top:" + (top_ < milestones_.size() ? std::to_string(milestones_[top_]) : "max_t") +
         " epsilon:" + ToJson(Value(epsilon_));
}

namespace {

Result<PashaOptions> ReadPashaOptions(const Value& map) {
  static constexpr std::array<std::string_view, 5> kOptions = {
      "max_t", "grace_period", "reduction_factor", "epsilon", "paused_max"};
  const OptionMap options("scheduler", "pasha", map);
  PashaOptions pasha;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(ReadLadder(options, pasha.ladder));
  if (options.Find("epsilon") != nullptr) {
    TUNE_RETURN_IF_ERROR(options.Read("epsilon", 0.0, std::numeric_limits<double>::infinity(),
                                      pasha.epsilon.emplace()));
  }
  if (options.Find("paused_max") != nullptr) {
    TUNE_RETURN_IF_ERROR(options.Read("paused_max", 1, std::numeric_limits<int64_t>::max(),
                                      pasha.paused_max.emplace()));
  }
  return pasha;
}

}  // namespace

Result<std::unique_ptr<TrialScheduler>> MakePashaScheduler(const Value& map, Mode mode,
                                                           uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const PashaOptions options, ReadPashaOptions(map));
  return std::unique_ptr<TrialScheduler>(std::make_unique<PashaScheduler>(options, mode, seed));
}

std::optional<int64_t> PashaMaxT(const Value& map) {
  const Result<PashaOptions> options = ReadPashaOptions(map);
  TUNE_CHECK(options.ok());
  return options->ladder.max_t;
}

}  // namespace tune
