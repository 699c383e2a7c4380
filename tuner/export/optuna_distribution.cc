#include "tuner/export/optuna_distribution.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/json.h"

namespace tune {
namespace {

// Normal domains have no ends; beyond six deviations lies one draw in five hundred million.
constexpr double kNearZero = 1e-9;

// Optuna's choices are null, booleans, numbers and texts; other values become their JSON.
Value Scalar(const Value& value) { return value.is_scalar() ? value : Value(ToJson(value)); }

// The step of a grid of doubles that are nearest to its decimal multiples: 0.1, not
// 0.09999999999999998.
double StepOf(const Domain& domain, uint64_t count) {
  const double span = domain.At(count - 1).AsDouble() - domain.At(0).AsDouble();
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.15g", span / static_cast<double>(count - 1));
  return std::strtod(digits, nullptr);
}

bool IsInteger(Domain::Kind kind) {
  return kind >= Domain::Kind::kRandInt && kind <= Domain::Kind::kQLogRandInt;
}
bool IsLog(Domain::Kind kind) {
  return kind == Domain::Kind::kLogUniform || kind == Domain::Kind::kQLogUniform ||
         kind == Domain::Kind::kLogRandInt || kind == Domain::Kind::kQLogRandInt;
}

}  // namespace

OptunaDistribution::OptunaDistribution(const Domain& domain) {
  if (domain.is_list()) {
    kind_ = Kind::kCategorical;
    Value list = Value::MakeList();
    for (uint64_t i = 0; i < domain.Count().value_or(0); ++i) {
      choices_.push_back(domain.At(i));
      list.AsList().push_back(Scalar(choices_.back()));
    }
    choices_json_ = R"({"name": "CategoricalDistribution", "attributes": {"choices": )" +
                    tune::ToJson(list) + "}}";
    return;
  }
  kind_ = IsInteger(domain.kind()) ? Kind::kInt : Kind::kFloat;
  is_log_ = IsLog(domain.kind());
  if (const auto ends = domain.Ends()) {
    low_ = ends->first;
    high_ = ends->second;
  } else {
    low_ = domain.FromUnit(kNearZero).AsDouble();
    high_ = domain.FromUnit(1 - kNearZero).AsDouble();
  }
  const std::optional<uint64_t> count = domain.Count();
  if (kind_ == Kind::kInt) step_ = 1;
  if (!is_log_ && count.value_or(0) > 1) step_ = StepOf(domain, *count);
}

std::optional<double> OptunaDistribution::InternalValue(const Value& value) const {
  if (kind_ != Kind::kCategorical) {
    if (!value.is_number() || !std::isfinite(value.AsDouble())) return std::nullopt;
    if (is_log_ && value.AsDouble() <= 0) return std::nullopt;
    return value.AsDouble();
  }
  auto found = std::find(choices_.begin(), choices_.end(), value);
  if (found == choices_.end()) {
    found = std::find_if(choices_.begin(), choices_.end(),
                         [&](const Value& choice) { return IsSameValue(choice, value); });
  }
  if (found == choices_.end()) return std::nullopt;
  return static_cast<double>(found - choices_.begin());
}

Value OptunaDistribution::ExternalValue(const Value& value) const {
  if (kind_ == Kind::kCategorical) return Scalar(value);
  if (kind_ == Kind::kInt) return Value(static_cast<int64_t>(value.AsDouble()));
  return Value(value.AsDouble());
}

std::string OptunaDistribution::ToJson(double internal_value) const {
  if (kind_ == Kind::kCategorical) return choices_json_;
  const bool is_inside = internal_value >= low_ && internal_value <= high_;
  const auto number = [this](double x) {
    return tune::ToJson(kind_ == Kind::kInt ? Value(static_cast<int64_t>(x)) : Value(x));
  };
  std::string step = "null";
  if (kind_ == Kind::kInt) step = is_inside ? number(*step_) : "1";
  if (kind_ == Kind::kFloat && step_.has_value() && is_inside) step = number(*step_);
  return std::string(R"({"name": ")") +
         (kind_ == Kind::kInt ? "IntDistribution" : "FloatDistribution") +
         R"(", "attributes": {"step": )" + step + R"(, "low": )" +
         number(std::min(low_, internal_value)) + R"(, "high": )" +
         number(std::max(high_, internal_value)) + R"(, "log": )" + (is_log_ ? "true" : "false") +
         "}}";
}

}  // namespace tune
