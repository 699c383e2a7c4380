#include "search/constraint.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/input_error.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

// The values of a list or a constant; nothing for numbers from a range.
std::vector<Value> ListedValues(const SpaceParameter& parameter) {
  if (const auto* const constant = std::get_if<Value>(&parameter.content)) return {*constant};
  const Domain& domain = std::get<Domain>(parameter.content);
  std::vector<Value> values;
  if (!domain.is_list()) return values;
  for (uint64_t i = 0; i < *domain.Count(); ++i) values.push_back(domain.At(i));
  return values;
}

bool IsNumber(const Value& value) { return value.is_number() || value.is_bool(); }

}  // namespace

std::string Dotted(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

const SpaceParameter* FindNamed(const ExpressionVariable& variable,
                                const std::vector<SpaceParameter>& parameters) {
  const auto nested = std::find_if(
      parameters.begin(), parameters.end(),
      [&](const SpaceParameter& parameter) { return parameter.name == variable.name; });
  if (nested != parameters.end()) return &*nested;
  const std::string written = Dotted(variable.name);
  const auto dotted = std::find_if(
      parameters.begin(), parameters.end(),
      [&](const SpaceParameter& parameter) { return Dotted(parameter.name) == written; });
  return dotted == parameters.end() ? nullptr : &*dotted;
}

ExpressionInput InputOf(const Value& value) {
  ExpressionInput input;
  if (value.is_number()) {
    input.number = value.AsDouble();
  } else if (value.is_bool()) {
    input.number = value.AsBool() ? 1 : 0;
  } else {
    input.number = std::numeric_limits<double>::quiet_NaN();
    input.is_text = value.is_string();
    if (input.is_text) input.text = value.AsString();
  }
  return input;
}

std::string MisuseOf(const ExpressionVariable& variable, const SpaceParameter& parameter) {
  const std::vector<Value> values = ListedValues(parameter);
  const std::string name = "'" + Dotted(variable.name) + "'";
  if (variable.used_as_number) {
    const auto found = std::find_if_not(values.begin(), values.end(), IsNumber);
    if (found == values.end() && !variable.used_as_text) return "";
    if (found != values.end() && found->is_string()) {
      return name + " can be " + Shown(*found) +
             ", which is no number; compare it with a quoted "
             "text by == or !=";
    }
    if (found != values.end()) return name + " can be " + Shown(*found) + ", which is no number";
  }
  std::vector<std::string_view> texts;
  for (const Value& value : values) {
    if (value.is_string()) texts.push_back(value.AsString());
  }
  if (texts.empty()) {
    const bool is_flag = !values.empty() && std::all_of(values.begin(), values.end(),
                                                        [](const Value& v) { return v.is_bool(); });
    return name + " is never a text; " +
           (is_flag ? "write 1 for true and 0 for false" : "write the number without quotes");
  }
  for (const std::string& text : variable.texts) {
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
    return name + " is never '" + text + "'" + DidYouMean(text, texts);
  }
  return "";
}

Result<Constraint> Constraint::Parse(const Value& text,
                                     const std::vector<SpaceParameter>& parameters) {
  if (!text.is_string()) {
    return InvalidAt(text.place, "constraints: read " + Shown(text) +
                                     ", expected an expression such as \"width * depth <= 64\"");
  }
  Result<Expression> expression = Expression::Parse(text.AsString());
  if (!expression.ok()) {
    return InvalidAt(text.place, "constraints: " + expression.status().message());
  }
  Constraint constraint(*std::move(expression));
  constraint.place_ = text.place;
  std::vector<std::string> names;
  for (const SpaceParameter& parameter : parameters) names.push_back(Dotted(parameter.name));
  for (const ExpressionVariable& variable : constraint.expression_.variables()) {
    const auto wrong = [&](const std::string& what) {
      return InvalidAt(text.place, "constraints: column " + std::to_string(variable.column) +
                                       " of '" + constraint.text() + "': " + what);
    };
    const std::string written = Dotted(variable.name);
    const SpaceParameter* const found = FindNamed(variable, parameters);
    if (found == nullptr) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return wrong("there is no parameter '" + written + "'" + DidYouMean(written, known));
    }
    if (const std::string misuse = MisuseOf(variable, *found); !misuse.empty())
      return wrong(misuse);
    constraint.parameters_.push_back(static_cast<size_t>(found - parameters.data()));
    constraint.names_.push_back(found->name);
  }
  if (constraint.parameters_.empty()) {
    return InvalidAt(text.place, "constraints: '" + constraint.text() + "' names no parameter");
  }
  return constraint;
}

bool Constraint::IsSatisfied(const Configuration& configuration) const {
  std::vector<ExpressionInput> inputs;
  inputs.reserve(names_.size());
  for (const std::string& name : names_) {
    const Value* const value = configuration.Find(name);
    if (value == nullptr) return true;
    inputs.push_back(InputOf(*value));
  }
  return Expression::IsTrue(expression_.Evaluate(inputs));
}

}  // namespace tune
