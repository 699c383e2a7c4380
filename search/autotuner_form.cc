#include "search/autotuner_form.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 3> kKeys = {"type", "minmax", "step"};

Status Expected(const Value& value, std::string_view key, std::string_view what) {
  return InvalidAt(value.place,
                   std::string(key) + ": read " + Shown(value) + ", expected " + std::string(what));
}

Status CheckKeys(const Value& map) {
  for (const MapEntry& entry : map.AsMap()) {
    bool is_known = entry.key == "when";
    for (const std::string_view key : kKeys) is_known = is_known || entry.key == key;
    if (is_known) continue;
    return InvalidAt(entry.key_place, "'" + entry.key + "' cannot stand beside 'minmax'" +
                                          DidYouMean(entry.key, kKeys));
  }
  for (const std::string_view key : kKeys) {
    if (map.Find(key) != nullptr) continue;
    return InvalidAt(map.place, "'" + std::string(key) + "' is missing beside " +
                                    (key == "minmax" ? "'type'" : "'minmax'"));
  }
  return OkStatus();
}

bool IsWhole(double x) { return std::floor(x) == x; }

// The smallest power of ten that makes whole numbers of both, so that points are the doubles
// nearest to their decimals; 0 where 10^9 does not.
double DecimalsOf(double a, double b) {
  for (double power = 1; power <= 1e9; power *= 10) {
    const auto is_whole = [&](double x) {
      return std::fabs(x * power - std::round(x * power)) <= 1e-9 * std::fabs(x * power);
    };
    if (is_whole(a) && is_whole(b)) return power;
  }
  return 0;
}

// {name: arguments}, with the places of what was read.
Result<std::variant<Value, Domain>> MakeDomain(std::string_view name, Value::List arguments,
                                               const Value& minmax) {
  Value list(std::move(arguments));
  list.place = minmax.place;
  for (Value& item : list.AsList()) item.place = minmax.place;
  Value map = Value::MakeMap();
  map.Set(name, std::move(list));
  TUNE_ASSIGN_OR_RETURN(Domain domain, Domain::Parse(map));
  return std::variant<Value, Domain>(std::move(domain));
}

Result<std::variant<Value, Domain>> MakeGrid(const Value& minmax, double lo, double hi, double step,
                                             bool is_int) {
  const double count = std::floor((hi - lo) / step + 1e-9) + 1;
  if (!(count <= static_cast<double>(limits::kListedPointsMax))) {
    return InvalidAt(minmax.place, "minmax: its steps make more than " +
                                       std::to_string(limits::kListedPointsMax) + " points");
  }
  const double power = is_int ? 1 : DecimalsOf(lo, step);
  Value::List points;
  for (int64_t k = 0; k < static_cast<int64_t>(count); ++k) {
    const auto steps = static_cast<double>(k);
    const double x = power == 0
                         ? lo + steps * step
                         : (std::round(lo * power) + steps * std::round(step * power)) / power;
    points.push_back(is_int ? Value(static_cast<int64_t>(x)) : Value(x));
  }
  return MakeDomain("ordinal", std::move(points), minmax);
}

}  // namespace

bool IsAutoTunerForm(const Value& map) {
  return map.is_map() && map.Find("type") != nullptr && map.Find("minmax") != nullptr;
}

Result<std::variant<Value, Domain>> ReadAutoTunerForm(const Value& map) {
  constexpr double kWholeMax = 0x1p53;
  TUNE_RETURN_IF_ERROR(CheckKeys(map));
  const Value& type = *map.Find("type");
  const Value& minmax = *map.Find("minmax");
  const Value& step_value = *map.Find("step");
  const bool is_int = type == Value("int");
  if (!is_int && type != Value("float")) return Expected(type, "type", "int or float");
  if (!minmax.is_list() || minmax.AsList().size() != 2) {
    return Expected(minmax, "minmax", "a list, [min, max]");
  }
  const auto is_usable = [&](const Value& value) {
    return value.is_number() && std::isfinite(value.AsDouble()) &&
           (!is_int || (IsWhole(value.AsDouble()) && std::fabs(value.AsDouble()) <= kWholeMax));
  };
  const char* const number = is_int ? "an integer" : "a finite number";
  for (const Value& end : minmax.AsList()) {
    if (!is_usable(end)) return Expected(end, "minmax", number);
  }
  if (!is_usable(step_value) || step_value.AsDouble() < 0) {
    return Expected(step_value, "step", std::string(number) + " of 0 or more");
  }
  const double lo = minmax.AsList()[0].AsDouble();
  const double hi = minmax.AsList()[1].AsDouble();
  const double step = step_value.AsDouble();
  if (lo > hi) {
    return InvalidAt(minmax.place, "minmax: the minimum is above the maximum");
  }
  const auto value_of = [&](double x) {
    return is_int ? Value(static_cast<int64_t>(x)) : Value(x);
  };
  if (lo == hi || (is_int && step == 0)) return std::variant<Value, Domain>(value_of(lo));
  if (step == 0) return MakeDomain("uniform", {Value(lo), Value(hi)}, minmax);
  if (is_int && step == 1) return MakeDomain("randint", {value_of(lo), value_of(hi + 1)}, minmax);
  auto quantised = MakeDomain(is_int ? "qrandint" : "quniform",
                              {value_of(lo), value_of(hi), value_of(step)}, minmax);
  // Where the ends are no multiples of the step.
  return quantised.ok() ? std::move(quantised) : MakeGrid(minmax, lo, hi, step, is_int);
}

}  // namespace tune
