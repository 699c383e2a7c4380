#include "trial_runner/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "core/random.h"
#include "core/time.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 11> kOptions = {
    "value", "values",        "iterations",           "seconds",    "noise",           "crash",
    "hang",  "out_of_memory", "device_out_of_memory", "bad_config", "checkpoint_bytes"};
constexpr int64_t kIterationsMax = 1'000'000'000;
constexpr int64_t kCheckpointBytesMax = int64_t{1} << 30;

// A number or an expression.
Result<Expression> ReadExpression(std::string_view name, const Value& value) {
  if (!value.is_string() && !value.is_number()) {
    return InvalidAt(value.place, "curve." + std::string(name) + ": read " + Shown(value) +
                                      ", expected an expression over the parameters and t");
  }
  const Result<Expression> parsed =
      Expression::Parse(value.is_string() ? value.AsString() : ToJson(value));
  if (!parsed.ok()) {
    return InvalidAt(value.place, "curve." + std::string(name) + ": " + parsed.status().message());
  }
  return parsed;
}

Status ReadNumberIn(const Value& options, std::string_view name, double hi, const char* expected,
                    double& out) {
  const Value* const value = options.Find(name);
  if (value == nullptr) return OkStatus();
  if (!value->is_number() || !(value->AsDouble() >= 0 && value->AsDouble() <= hi)) {
    return InvalidAt(value->place, "curve." + std::string(name) + ": read " + Shown(*value) +
                                       ", expected " + expected);
  }
  out = value->AsDouble();
  return OkStatus();
}

Status ReadSize(const Value& options, std::string_view name, int64_t max, int64_t& out) {
  const Value* const value = options.Find(name);
  if (value == nullptr) return OkStatus();
  if (value->is_string() || value->is_int()) {
    const Result<int64_t> bytes =
        ParseBytes(value->is_string() ? value->AsString() : std::to_string(value->AsInt()));
    if (bytes.ok() && *bytes >= 0 && *bytes <= max) {
      out = *bytes;
      return OkStatus();
    }
  }
  return InvalidAt(value->place, "curve." + std::string(name) + ": read " + Shown(*value) +
                                     ", expected a size such as 64KiB, at most " +
                                     std::to_string(max) + " bytes");
}

// "optimizer/lr" in a nested map.
const Value* FindNested(const Value& config, std::string_view flat_name) {
  const Value* at = &config;
  while (true) {
    if (!at->is_map()) return nullptr;
    const size_t slash = flat_name.find('/');
    at = at->Find(flat_name.substr(0, slash));
    if (at == nullptr || slash == std::string_view::npos) return at;
    flat_name.remove_prefix(slash + 1);
  }
}

// Deterministic for the life of the attempt: the same attempt, run again, does the same.
bool Happens(double probability, uint64_t seed, std::string_view what, int64_t trial,
             int64_t attempt, int64_t iteration) {
  if (probability <= 0) return false;
  KeyedRandom random(seed, "curve/" + std::string(what) + "/" + std::to_string(attempt),
                     static_cast<uint64_t>(trial), static_cast<uint64_t>(iteration));
  return random.NextDouble() < probability;
}

}  // namespace

Result<Curve> Curve::Parse(const Value& options) {
  if (!options.is_map()) {
    return InvalidAt(options.place,
                     "curve: read " + Shown(options) + ", expected a map with at least `value`");
  }
  for (const MapEntry& entry : options.AsMap()) {
    if (std::find(kOptions.begin(), kOptions.end(), entry.key) == kOptions.end()) {
      return InvalidAt(entry.key_place, "curve: unknown option '" + entry.key + "'" +
                                            DidYouMean(entry.key, kOptions));
    }
  }
  const Value zero(0);
  const Value* const seconds = options.Find("seconds");
  TUNE_ASSIGN_OR_RETURN(Expression seconds_expression,
                        ReadExpression("seconds", seconds == nullptr ? zero : *seconds));
  Curve curve(std::move(seconds_expression));
  TUNE_RETURN_IF_ERROR(curve.ReadValues(options));
  if (const Value* const count = options.Find("iterations")) {
    if (!count->is_int() || count->AsInt() < 1 || count->AsInt() > kIterationsMax) {
      return InvalidAt(count->place, "curve.iterations: read " + Shown(*count) +
                                         ", expected an integer from 1 to " +
                                         std::to_string(kIterationsMax));
    }
    curve.iterations_ = count->AsInt();
  }
  TUNE_RETURN_IF_ERROR(ReadNumberIn(options, "noise", HUGE_VAL, "a number from 0", curve.noise_));
  const std::pair<std::string_view, double*> probabilities[] = {
      {"crash", &curve.crash_},
      {"hang", &curve.hang_},
      {"out_of_memory", &curve.out_of_memory_},
      {"device_out_of_memory", &curve.device_out_of_memory_},
      {"bad_config", &curve.bad_config_}};
  for (const auto& [name, out] : probabilities) {
    TUNE_RETURN_IF_ERROR(ReadNumberIn(options, name, 1, "a probability from 0 to 1", *out));
  }
  TUNE_RETURN_IF_ERROR(
      ReadSize(options, "checkpoint_bytes", kCheckpointBytesMax, curve.checkpoint_bytes_));
  return curve;
}

Status Curve::ReadValues(const Value& options) {
  const Value* const value = options.Find("value");
  const Value* const values = options.Find("values");
  if ((value == nullptr) == (values == nullptr)) {
    return InvalidAt(options.place,
                     value == nullptr
                         ? "curve: `value` is missing: an expression over the parameters and t"
                         : "curve: `value` and `values` stand beside each other; write one");
  }
  if (value != nullptr) {
    TUNE_ASSIGN_OR_RETURN(Expression expression, ReadExpression("value", *value));
    metric_names_ = {""};
    values_.push_back(std::move(expression));
    return OkStatus();
  }
  if (!values->is_map() || values->AsMap().empty()) {
    return InvalidAt(values->place, "curve.values: read " + Shown(*values) +
                                        ", expected a map from metrics to expressions");
  }
  for (const MapEntry& entry : values->AsMap()) {
    TUNE_ASSIGN_OR_RETURN(Expression expression,
                          ReadExpression("values." + entry.key, entry.value));
    metric_names_.push_back(entry.key);
    values_.push_back(std::move(expression));
  }
  return OkStatus();
}

std::vector<std::string> Curve::ParameterNames() const {
  std::vector<std::string> names;
  std::vector<const Expression*> expressions = {&seconds_};
  for (const Expression& expression : values_) expressions.push_back(&expression);
  for (const Expression* const expression : expressions) {
    for (const ExpressionVariable& variable : expression->variables()) {
      if (variable.name == kCurveIteration) continue;
      if (std::find(names.begin(), names.end(), variable.name) == names.end()) {
        names.push_back(variable.name);
      }
    }
  }
  return names;
}

struct BoundCurve::Parts {
  // An expression's inputs in the order of its variables; the slot of t is filled at each step.
  struct Inputs {
    std::vector<ExpressionInput> values;
    std::vector<size_t> iteration_slots;

    std::vector<ExpressionInput> At(int64_t iteration) const {
      std::vector<ExpressionInput> filled = values;
      for (const size_t slot : iteration_slots)
        filled[slot].number = static_cast<double>(iteration);
      return filled;
    }
  };

  Curve curve;
  Value config;  // The inputs refer to its texts.
  std::vector<Inputs> values;
  Inputs seconds;

  Status Fill(const Expression& expression, Inputs& out) {
    for (const ExpressionVariable& variable : expression.variables()) {
      if (variable.name == kCurveIteration) {
        out.iteration_slots.push_back(out.values.size());
        out.values.emplace_back();
        continue;
      }
      const Value* const parameter = FindNested(config, variable.name);
      if (parameter == nullptr) {
        out.values.emplace_back();
        continue;
      }
      const Result<ExpressionInput> input = Expression::InputFor(variable, *parameter);
      if (!input.ok()) return input.status().At("curve");
      out.values.push_back(*input);
    }
    return OkStatus();
  }
};

Result<BoundCurve> Curve::Bind(const Value& config) const {
  const auto parts = std::make_shared<BoundCurve::Parts>(
      BoundCurve::Parts{*this, config, {}, BoundCurve::Parts::Inputs()});
  for (const Expression& value : values_) {
    TUNE_RETURN_IF_ERROR(parts->Fill(value, parts->values.emplace_back()));
  }
  TUNE_RETURN_IF_ERROR(parts->Fill(seconds_, parts->seconds));
  BoundCurve bound;
  bound.parts_ = parts;
  return bound;
}

int64_t BoundCurve::iterations() const { return parts_->curve.iterations_; }

int64_t BoundCurve::checkpoint_bytes() const { return parts_->curve.checkpoint_bytes_; }

CurveStep BoundCurve::Step(uint64_t seed, int64_t trial, int64_t attempt, int64_t iteration) const {
  const Curve& curve = parts_->curve;
  CurveStep step;
  step.seconds = curve.seconds_.Evaluate(parts_->seconds.At(iteration));
  const auto happens = [&](double probability, std::string_view what) {
    return Happens(probability, seed, what, trial, attempt, iteration);
  };
  step.crashes = happens(curve.crash_, "crash");
  step.hangs = happens(curve.hang_, "hang");
  step.is_out_of_memory = happens(curve.out_of_memory_, "out_of_memory");
  step.is_out_of_device_memory = happens(curve.device_out_of_memory_, "device_out_of_memory");
  step.is_bad_config = happens(curve.bad_config_, "bad_config");
  KeyedRandom random(seed, "curve/noise", static_cast<uint64_t>(trial),
                     static_cast<uint64_t>(iteration));
  for (size_t i = 0; i < curve.values_.size(); ++i) {
    double value = curve.values_[i].Evaluate(parts_->values[i].At(iteration));
    if (curve.noise_ > 0) value += curve.noise_ * random.NextNormal();
    step.values.push_back(value);
  }
  return step;
}

Metrics BoundCurve::MetricsOf(const CurveStep& step, const std::string& sweep_metric) const {
  Metrics metrics;
  const std::vector<std::string>& names = parts_->curve.metric_names_;
  for (size_t i = 0; i < names.size(); ++i) {
    metrics.emplace_back(names[i].empty() ? sweep_metric : names[i], step.values[i]);
  }
  return metrics;
}

}  // namespace tune
