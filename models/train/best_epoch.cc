#include "models/train/best_epoch.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/check.h"
#include "core/metric_variable.h"
#include "models/train/food11_options.h"

namespace tune::models {
namespace {

constexpr char kValLoss[] = "val_loss";

bool EveryEpochReports(const std::string& name) {
  const auto names = Food11MetricNames();
  return !name.starts_with("test_") && std::find(names.begin(), names.end(), name) != names.end();
}

// Nothing where there can be no such rule.
Result<Expression> ParseRule(const std::string& metric) {
  TUNE_ASSIGN_OR_RETURN(Expression expression, Expression::Parse(metric));
  for (const ExpressionVariable& variable : expression.variables()) {
    if (variable.used_as_text || !EveryEpochReports(variable.name)) {
      return InvalidArgument(variable.name + " is not of every epoch");
    }
  }
  return expression;
}

}  // namespace

BestEpochRule::BestEpochRule() : BestEpochRule(*Expression::Parse(kValLoss), Mode::kMin) {}

BestEpochRule::BestEpochRule(const std::string& metric, Mode mode) : BestEpochRule() {
  Result<Expression> expression = ParseRule(metric);
  if (expression.ok()) *this = BestEpochRule(*std::move(expression), mode);
}

bool BestEpochRule::GoesByTime() const {
  return std::any_of(expression_.variables().begin(), expression_.variables().end(),
                     [](const ExpressionVariable& variable) {
                       return variable.name == "epoch_seconds" ||
                              variable.name == "images_per_second";
                     });
}

Metric BestEpochRule::ValueOf(const Metrics& epoch) const {
  const std::optional<double> value = EvaluateOver(expression_, epoch);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace tune::models
