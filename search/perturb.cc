#include "search/perturb.h"

#include <algorithm>
#include <optional>

#include "core/check.h"
#include "core/input_error.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

constexpr int kTriesMax = 100;
constexpr int kBisections = 80;  // More than a number of [0, 1] has bits.

// The values of a numeric domain around x: the last one that is not above it (with `inclusive`:
// else below it), and the first one after that. Either is absent where the domain ends.
struct Around {
  std::optional<Value> below;
  std::optional<Value> above;
};

Around Find(const Domain& domain, double x, bool inclusive) {
  const auto is_low = [&](double u) {
    const double value = domain.FromUnit(u).AsDouble();
    return inclusive ? value <= x : value < x;
  };
  if (!is_low(0)) return {std::nullopt, domain.FromUnit(0)};
  if (is_low(1)) return {domain.FromUnit(1), std::nullopt};
  double lo = 0;
  double hi = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double mid = lo + (hi - lo) / 2;
    (is_low(mid) ? lo : hi) = mid;
  }
  return {domain.FromUnit(lo), domain.FromUnit(hi)};
}

Value Multiplied(const Domain& domain, const Value& base, double factor) {
  const double from = base.AsDouble();
  const double x = from * factor;
  if (x == from) return base;
  const bool is_up = x > from;
  if (!domain.is_discrete()) {
    if (const auto own = domain.OwnValue(Value(x))) return *own;
    return domain.FromUnit(is_up ? 1 : 0);
  }
  const auto [below, above] = Find(domain, x, /*inclusive=*/true);
  const bool is_below_nearer = below && (!above || x - below->AsDouble() <= above->AsDouble() - x);
  const Value nearest = is_below_nearer ? *below : *above;
  if (is_up ? nearest.AsDouble() > from : nearest.AsDouble() < from) return nearest;
  const Around neighbours = Find(domain, from, /*inclusive=*/is_up);
  return (is_up ? neighbours.above : neighbours.below).value_or(base);
}

Value Neighbour(const Domain& ordinal, const Value& base, KeyedRandom& random) {
  const uint64_t count = *ordinal.Count();
  uint64_t index = 0;
  while (index + 1 < count && !(ordinal.At(index) == base)) ++index;
  const bool is_up = random.NextBelow(2) == 0;
  if (count == 1) return base;
  if (index == 0) return ordinal.At(1);
  if (index + 1 == count) return ordinal.At(index - 1);
  return ordinal.At(is_up ? index + 1 : index - 1);
}

Value PerturbValue(const Domain& domain, const Value& base, const PerturbOptions& options,
                   KeyedRandom& random) {
  const std::optional<Value> own = domain.OwnValue(base);
  if (random.NextDouble() < options.resample_probability || !own) return domain.Draw(random);
  if (domain.kind() == Domain::Kind::kOrdinal) return Neighbour(domain, *own, random);
  if (!domain.is_ordered()) return *own;
  return Multiplied(domain, *own, options.factors[random.NextBelow(options.factors.size())]);
}

}  // namespace

Configuration Perturb(const SearchSpace& space, const Configuration& base,
                      const PerturbOptions& options, KeyedRandom& random) {
  TUNE_CHECK(!options.factors.empty());
  const auto is_perturbed = [&](const std::string& name) {
    return options.parameters.empty() ||
           std::find(options.parameters.begin(), options.parameters.end(), name) !=
               options.parameters.end();
  };
  for (int i = 0; i < kTriesMax; ++i) {
    Configuration near = space.Assemble([&](size_t parameter) {
      const SpaceParameter& p = space.parameters()[parameter];
      const Domain& domain = std::get<Domain>(p.content);
      const Value* const value = base.Find(p.name);
      if (value == nullptr) return domain.Draw(random);
      return is_perturbed(p.name) ? PerturbValue(domain, *value, options, random) : *value;
    });
    if (space.Allows(near)) return near;
  }
  return base;
}

Status CheckPerturbed(const SearchSpace& space, std::span<const Value> names) {
  std::vector<std::string_view> known;
  for (const SpaceParameter& parameter : space.parameters()) {
    if (std::holds_alternative<Domain>(parameter.content)) known.push_back(parameter.name);
  }
  for (const Value& name : names) {
    if (std::find(known.begin(), known.end(), name.AsString()) != known.end()) continue;
    return InvalidAt(name.place, "hyperparam_mutations: '" + name.AsString() +
                                     "' is not a parameter with a domain" +
                                     DidYouMean(name.AsString(), known));
  }
  return OkStatus();
}

}  // namespace tune
