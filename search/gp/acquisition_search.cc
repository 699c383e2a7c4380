#include "search/gp/acquisition_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"
#include "search/gp/quasi_newton.h"

namespace tune {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr uint64_t kFewValues = 64;
constexpr size_t kSpreadCount = 384;  // Points over the whole space,
constexpr size_t kNearCount = 128;    // and around the best trials.
constexpr size_t kClimbCount = 4;     // How many of them climb.
constexpr int kFillDraws = 20'000;    // At most, for spread points that constraints forbid.
constexpr size_t kSpreadLeast = 48;   // Fewer tell nothing of the whole space.

}  // namespace

AcquisitionSearch::AcquisitionSearch(const UnitSpace& space, SearchRules rules)
    : space_(space),
      rules_(rules),
      beliefs_(space),
      sobol_(std::min(space.size(), SobolSequence::kDimensionsMax)) {
  for (size_t d = 0; d < space.size(); ++d) {
    const Domain& domain = space.domain(d);
    is_category_.push_back(!domain.is_ordered());
    const auto count = domain.Count().value_or(kFewValues + 1);
    std::vector<double> values;
    for (uint64_t i = 0; count <= kFewValues && i < count; ++i) {
      values.push_back(domain.CellAt(i).mid());
    }
    values_.push_back(std::move(values));
  }
}

VectorXd AcquisitionSearch::PointOf(const UnitCells& cells) const {
  VectorXd point(static_cast<Index>(cells.size()));
  for (size_t d = 0; d < cells.size(); ++d) {
    const double missing = is_category_[d] ? -1 : 0.5;
    point[static_cast<Index>(d)] = cells[d] ? cells[d]->mid() : missing;
  }
  return point;
}

std::vector<AcquisitionSearch::Candidate> AcquisitionSearch::CandidatesAt(
    const Aim& aim, std::vector<VectorXd> units) const {
  std::vector<Candidate> candidates;
  Points points(static_cast<Index>(units.size()), static_cast<Index>(space_.size()));
  for (VectorXd& unit : units) {
    Configuration configuration = space_.At({unit.data(), space_.size()});
    auto cells = space_.CellsOf(configuration);
    TUNE_CHECK(cells.has_value());
    points.row(static_cast<Index>(candidates.size())) = PointOf(*cells);
    candidates.push_back({std::move(unit), std::move(configuration), *std::move(cells)});
  }
  const Eigen::ArrayXd values = aim.acquisition.Values(points);
  Eigen::Array<bool, Eigen::Dynamic, 1> is_apart =
      Eigen::Array<bool, Eigen::Dynamic, 1>::Constant(points.rows(), true);
  for (const VectorXd& other : aim.pending) {
    is_apart = is_apart && aim.acquisition.AreApart(points, other);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const bool counts =
        is_apart[static_cast<Index>(i)] && space_.space().Allows(candidates[i].configuration);
    candidates[i].value =
        counts ? values[static_cast<Index>(i)] : -std::numeric_limits<double>::infinity();
    if (aim.belief > 0) {
      candidates[i].value += aim.belief * beliefs_.LogDensity(candidates[i].cells);
    }
  }
  return candidates;
}

// Sometimes far, sometimes very near: the scale is drawn too.
VectorXd AcquisitionSearch::NearTo(const VectorXd& incumbent, KeyedRandom& random) const {
  VectorXd unit = incumbent;
  const double scale = std::pow(10.0, random.NextUniform(-3, -0.5));
  for (size_t d = 0; d < space_.size(); ++d) {
    double& u = unit[static_cast<Index>(d)];
    const double step = scale * random.NextNormal();
    const double anew = random.NextDouble();
    const bool is_redrawn = random.NextBelow(space_.size()) == 0;
    if (values_[d].empty() && !is_category_[d]) {
      u = std::clamp(u + step, 0.0, 1.0);
    } else if (is_redrawn || u < 0) {
      u = anew;
    }
  }
  return unit;
}

// Leaves out what is not allowed, and draws for it.
void AcquisitionSearch::FillUp(std::vector<VectorXd>& units, KeyedRandom& random) const {
  const auto is_allowed = [this](const VectorXd& unit) {
    return space_.space().Allows(space_.At({unit.data(), space_.size()}));
  };
  std::erase_if(units, [&](const VectorXd& unit) { return !is_allowed(unit); });
  VectorXd unit(static_cast<Index>(space_.size()));
  for (int draw = 0; draw < kFillDraws && units.size() < kSpreadCount; ++draw) {
    for (double& u : unit) u = random.NextDouble();
    if (is_allowed(unit)) units.push_back(unit);
  }
}

AcquisitionSearch::Scatter AcquisitionSearch::Scattered(const std::vector<VectorXd>& incumbents,
                                                        KeyedRandom random) const {
  std::vector<VectorXd> units;
  std::vector<uint32_t> shifts;  // Flipping the same bits of each point keeps them even.
  for (size_t d = 0; d < sobol_.dimensions(); ++d) {
    shifts.push_back(static_cast<uint32_t>(random.NextU64() >> 32));
  }
  for (uint32_t i = 0; i < kSpreadCount; ++i) {
    VectorXd unit(static_cast<Index>(space_.size()));
    for (size_t d = 0; d < space_.size(); ++d) {
      unit[static_cast<Index>(d)] =
          d < shifts.size() ? (sobol_.At(d, i) ^ shifts[d]) * 0x1p-32 : random.NextDouble();
    }
    units.push_back(std::move(unit));
  }
  const bool is_bound = !space_.space().constraints().empty();
  if (is_bound && rules_ >= SearchRules::kFrom16) FillUp(units, random);
  const size_t spread_count = units.size();
  for (size_t i = 0; i < kNearCount && !incumbents.empty(); ++i) {
    units.push_back(NearTo(incumbents[i % incumbents.size()], random));
  }
  return {std::move(units), spread_count};
}

double AcquisitionSearch::ValueAt(const Aim& aim, const Candidate& candidate, const VectorXd& point,
                                  VectorXd& slope) const {
  double value = aim.acquisition.ValueWithSlope(point, slope);
  for (size_t d = 0; aim.belief > 0 && d < space_.size(); ++d) {
    if (beliefs_.Of(d) == nullptr || !candidate.cells[d] || is_category_[d]) continue;
    const auto at = static_cast<Index>(d);
    const Belief::LogSlope believed = beliefs_.Of(d)->LogDensity(point[at]);
    value += aim.belief * believed.value;
    slope[at] += aim.belief * believed.slope;
  }
  return value;
}

void AcquisitionSearch::Climb(const Aim& aim, Candidate& candidate) const {
  VectorXd x = PointOf(candidate.cells);
  VectorXd lower = x;
  VectorXd upper = x;
  for (size_t d = 0; d < space_.size(); ++d) {
    if (!values_[d].empty() || is_category_[d] || !candidate.cells[d]) continue;
    lower[static_cast<Index>(d)] = 0;
    upper[static_cast<Index>(d)] = 1;
  }
  if (lower == upper) return;
  const VectorXd start = x;
  const auto loss = [&](const VectorXd& point, VectorXd& gradient) {
    const double value = ValueAt(aim, candidate, point, gradient);
    gradient = -gradient;
    return -value;
  };
  const QuasiNewtonOptions options = {.iterations_max = 30,
                                      .first_step = 0.02,
                                      .gradient_tolerance = 1e-4,
                                      .decrease_tolerance = 1e-5};
  MinimizeInBox(lower, upper, options, loss, x);
  // Where constraints or pending trials forbid the summit, a part of the way to it may do.
  for (int attempt = 0; attempt < 4; ++attempt) {
    VectorXd unit = candidate.unit;
    unit = (lower.array() < upper.array()).select(x, unit);
    Candidate climbed = CandidatesAt(aim, {unit})[0];
    if (climbed.value > candidate.value) {
      candidate = std::move(climbed);
      return;
    }
    if (std::isfinite(climbed.value)) return;
    x = (x + start) / 2;
  }
}

bool AcquisitionSearch::TryValues(const Aim& aim, Candidate& candidate) const {
  bool is_better = false;
  for (size_t d = 0; d < space_.size(); ++d) {
    if (values_[d].empty() || !candidate.cells[d]) continue;
    std::vector<VectorXd> units;
    for (const double value : values_[d]) {
      units.push_back(candidate.unit);
      units.back()[static_cast<Index>(d)] = value;
    }
    for (Candidate& other : CandidatesAt(aim, std::move(units))) {
      if (!(other.value > candidate.value)) continue;
      candidate = std::move(other);
      is_better = true;
    }
  }
  return is_better;
}

std::vector<AcquisitionSearch::Candidate> AcquisitionSearch::Climbed(
    const Aim& aim, std::vector<VectorXd> units) const {
  constexpr int kTurnsMax = 4;
  if (units.empty()) return {};
  std::vector<Candidate> candidates = CandidatesAt(aim, std::move(units));
  const auto is_better = [](const Candidate& a, const Candidate& b) { return a.value > b.value; };
  std::stable_sort(candidates.begin(), candidates.end(), is_better);
  const size_t climb_count = std::min(kClimbCount, candidates.size());
  for (size_t i = 0; i < climb_count && std::isfinite(candidates[i].value); ++i) {
    Climb(aim, candidates[i]);
    for (int turn = 0; turn < kTurnsMax && TryValues(aim, candidates[i]); ++turn) {
      Climb(aim, candidates[i]);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), is_better);
  std::erase_if(candidates, [](const Candidate& each) { return !std::isfinite(each.value); });
  return candidates;
}

std::vector<Configuration> AcquisitionSearch::Promising(const Aim& aim,
                                                        const std::vector<VectorXd>& incumbents,
                                                        KeyedRandom random) const {
  std::vector<Configuration> out;
  for (Candidate& candidate : Climbed(aim, Scattered(incumbents, random).units)) {
    out.push_back(std::move(candidate.configuration));
  }
  return out;
}

std::optional<Points> AcquisitionSearch::Looked(const Aim& aim,
                                                const std::vector<VectorXd>& incumbents,
                                                KeyedRandom random) const {
  Scatter scatter = Scattered(incumbents, random);
  if (scatter.spread_count < kSpreadLeast) return std::nullopt;
  const std::vector<Candidate> candidates = Climbed(aim, std::move(scatter.units));
  Points points(static_cast<Index>(candidates.size()), static_cast<Index>(space_.size()));
  for (size_t i = 0; i < candidates.size(); ++i) {
    points.row(static_cast<Index>(i)) = PointOf(candidates[i].cells);
  }
  return points;
}

}  // namespace tune
