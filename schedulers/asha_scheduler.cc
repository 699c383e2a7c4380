#include "schedulers/asha_scheduler.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/input_error.h"
#include "core/option_map.h"
#include "schedulers/asha_promotion_scheduler.h"
#include "schedulers/rung_levels.h"

namespace tune {

AshaScheduler::AshaScheduler(std::string name, Brackets brackets, NanRule nan, Mode mode,
                             uint64_t seed)
    : name_(std::move(name)), brackets_(std::move(brackets)), nan_(nan), mode_(mode), seed_(seed) {
  for (const auto& milestones : brackets_.milestones) {
    rungs_.emplace_back(milestones.size(), RankedValues(mode));
  }
}

void AshaScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(!trial.is_live);
  // Again: the rungs that it filled stay filled.
  if (!trial.was_added) trial.bracket = DrawBracket(brackets_, seed_, number);
  trial.is_live = trial.was_added = true;
}

std::optional<double> AshaScheduler::Cutoff(const RankedValues& values) const {
  if (values.size() == 0) return std::nullopt;
  // Position (n - 1) * (rf - 1) / rf from the worst, as a whole and a remainder, without overflow:
  // n - 1 - (n - 1) / rf, the remainder carried.
  const uint64_t rf = static_cast<uint64_t>(brackets_.reduction_factor);
  const uint64_t steps = values.size() - 1;
  const uint64_t remainder = steps % rf == 0 ? 0 : rf - steps % rf;
  const uint64_t whole = steps - steps / rf - (remainder == 0 ? 0 : 1);
  return values.At(whole, static_cast<double>(remainder) / static_cast<double>(rf));
}

Decision AshaScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.is_live);
  value = Finite(value);

  Decision decision;
  const std::vector<int64_t>& milestones = brackets_.milestones[trial.bracket];
  if (FillsRung(milestones, iteration, trial.first_open)) {
    decision.rung = milestones[trial.first_open - 1];
    RankedValues& values = rungs_[trial.bracket][trial.first_open - 1];
    bool is_worse = false;
    if (value) {
      decision.cutoff = Cutoff(values);
      decision.rank = static_cast<int64_t>(values.Insert(*value)) + 1;
      decision.count = static_cast<int64_t>(values.size());
      is_worse = decision.cutoff && IsBetter(*decision.cutoff, *value, mode_);
    } else if (nan_ == NanRule::kStop) {
      decision.cutoff = Cutoff(values);
      decision.rank = decision.count = static_cast<int64_t>(values.size()) + 1;
      is_worse = true;
    }
    if (is_worse) {
      decision.verdict = Verdict::kStop;
      decision.cause = StopCause::kScheduler;
    }
  }
  if (iteration >= brackets_.max_t) {
    decision.verdict = Verdict::kStop;
    decision.cause = StopCause::kMaxT;
  }
  return decision;
}

void AshaScheduler::OnTrialEnded(TrialNumber number, bool /*failed*/) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.is_live);
  // What it reported stays where it is: others were measured against it. Its open rungs are given
  // up with it.
  trial.is_live = false;
}

std::vector<RungView> AshaScheduler::Rungs() const {
  std::vector<RungView> views;
  for (size_t s = 0; s < rungs_.size(); ++s) {
    for (size_t k = 0; k < rungs_[s].size(); ++k) {
      views.push_back(RungView{static_cast<int64_t>(s), brackets_.milestones[s][k],
                               static_cast<int64_t>(rungs_[s][k].size()), Cutoff(rungs_[s][k])});
    }
  }
  return views;
}

std::string AshaScheduler::DebugString() const { return name_ + DescribeRungs(Rungs()); }

namespace {

constexpr std::array<std::string_view, 7> kAshaOptions = {
    "variant", "max_t", "grace_period", "reduction_factor", "brackets", "paused_max", "nan"};

struct AshaOptions {
  bool promotes = false;
  LadderOptions ladder;
  int64_t brackets = 1;
  std::optional<int64_t> paused_max;
  NanRule nan = NanRule::kStop;
};

Result<AshaOptions> ReadAshaOptions(const Value& map) {
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  constexpr std::array<std::string_view, 2> kVariants = {"stop", "promote"};
  const OptionMap options("scheduler", "asha", map);
  AshaOptions asha;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kAshaOptions));
  size_t variant = 0;
  TUNE_RETURN_IF_ERROR(options.Read("variant", kVariants, variant));
  asha.promotes = variant == 1;
  if (options.Find("paused_max") != nullptr) {
    if (!asha.promotes) {
      return InvalidAt(options.PlaceOf("paused_max"),
                       "scheduler: paused_max: only the variant promote pauses trials");
    }
    TUNE_RETURN_IF_ERROR(options.Read("paused_max", 1, kNoMax, asha.paused_max.emplace(1)));
  }
  if (options.Find("nan") != nullptr && asha.promotes) {
    return InvalidAt(options.PlaceOf("nan"),
                     "scheduler: nan: the variant promote never promotes a trial without a finite "
                     "value; only the variant stop has a choice");
  }
  TUNE_RETURN_IF_ERROR(ReadNanRule(options, asha.nan));
  TUNE_RETURN_IF_ERROR(ReadLadder(options, asha.ladder));
  TUNE_RETURN_IF_ERROR(options.Read("brackets", 1, kNoMax, asha.brackets));
  const LadderOptions& ladder = asha.ladder;
  const size_t rungs =
      RungLevels(ladder.grace_period, ladder.max_t, ladder.reduction_factor).size();
  if (asha.brackets > static_cast<int64_t>(rungs)) {
    return InvalidAt(options.PlaceOf("brackets"),
                     "scheduler: read " + std::to_string(asha.brackets) +
                         " brackets, expected at most " + std::to_string(rungs) +
                         ", the number of rungs (each bracket leaves out one more)");
  }
  return asha;
}

}  // namespace

Result<std::unique_ptr<TrialScheduler>> MakeAshaScheduler(const Value& map, Mode mode,
                                                          uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const AshaOptions options, ReadAshaOptions(map));
  Brackets brackets = AshaBrackets(options.ladder, options.brackets);
  if (options.promotes) {
    return std::unique_ptr<TrialScheduler>(std::make_unique<AshaPromotionScheduler>(
        "asha", std::move(brackets), options.paused_max, mode, seed));
  }
  return std::unique_ptr<TrialScheduler>(
      std::make_unique<AshaScheduler>("asha", std::move(brackets), options.nan, mode, seed));
}

std::optional<int64_t> AshaMaxT(const Value& map) {
  const Result<AshaOptions> options = ReadAshaOptions(map);
  TUNE_CHECK(options.ok());
  return options->ladder.max_t;
}

bool AshaPauses(const Value& map) {
  const Result<AshaOptions> options = ReadAshaOptions(map);
  TUNE_CHECK(options.ok());
  return options->promotes;
}

}  // namespace tune
