#include "search/foreign_domain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "search/autotuner_form.h"
#include "search/domain.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 13> kLowNames = {
    "low",      "lo",       "lower", "lower_bound", "min",        "minimum", "min_value",
    "minValue", "MinValue", "start", "min_val",     "lowerBound", "from"};
constexpr std::array<std::string_view, 13> kHighNames = {
    "high",     "hi",       "upper", "upper_bound", "max",        "maximum", "max_value",
    "maxValue", "MaxValue", "end",   "max_val",     "upperBound", "to"};
constexpr std::array<std::string_view, 7> kListNames = {
    "values", "choices", "options", "_value", "categories", "Values", "value"};
constexpr std::array<std::string_view, 3> kBoundsNames = {"bounds", "range", "interval"};
// What says how the numbers are meant.
constexpr std::array<std::string_view, 20> kOtherNames = {
    "type", "_type",     "value_type", "parameter_type", "parameterType", "distribution", "dist",
    "log",  "log_scale", "logscale",   "scale",          "scaleType",     "sampling",     "prior",
    "step", "q",         "name",       "default",        "ScalingType",   "feasibleSpace"};

template <size_t kCount>
bool IsOneOf(std::string_view name, const std::array<std::string_view, kCount>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
template <size_t kCount>
const Value* FindAny(const Value& map, const std::array<std::string_view, kCount>& names) {
  for (const MapEntry& entry : map.AsMap()) {
    if (IsOneOf(entry.key, names)) return &entry.value;
  }
  return nullptr;
}

bool IsPlain(const Value& value) { return !value.is_map() && !value.is_list(); }

// "lo" in "log_uniform_values", without regard to case.
bool Holds(std::string text, std::string_view part) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text.find(part) != std::string::npos;
}

bool SaysAnywhere(const Value& map, std::string_view part) {
  return std::any_of(map.AsMap().begin(), map.AsMap().end(), [&](const MapEntry& entry) {
    return IsOneOf(entry.key, kOtherNames) && entry.value.is_string() &&
           Holds(entry.value.AsString(), part);
  });
}

bool IsLog(const Value& map) {
  const bool is_flag = std::any_of(map.AsMap().begin(), map.AsMap().end(), [](const auto& entry) {
    return (entry.key == "log" || entry.key == "log_scale" || entry.key == "logscale") &&
           entry.value == Value(true);
  });
  return is_flag || SaysAnywhere(map, "log");
}

std::optional<double> NumberOf(const Value& value) {
  if (value.is_number()) return value.AsDouble();
  if (!value.is_string()) return std::nullopt;
  const Result<Value> parsed = ParseJson(value.AsString());
  return parsed.ok() && parsed->is_number() ? std::optional(parsed->AsDouble()) : std::nullopt;
}

std::string ListText(const Value& list) {
  constexpr size_t kShownMax = 200;
  const std::string json = ToJson(list);
  if (json.size() > kShownMax) return "[...]";
  std::string text;
  for (const char c : json) {
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

std::string RangeText(const Value& map, const Value& low, const Value& high) {
  const std::optional<double> lo = NumberOf(low);
  const std::optional<double> hi = NumberOf(high);
  const bool is_log = IsLog(map) && lo.value_or(0) > 0;
  const Value* const type =
      FindAny(map, std::array<std::string_view, 6>{"type", "_type", "value_type", "parameterType",
                                                   "parameter_type", "distribution"});
  const bool says_type = type != nullptr && type->is_string();
  const bool says_float =
      says_type && (Holds(type->AsString(), "float") || Holds(type->AsString(), "double") ||
                    Holds(type->AsString(), "uniform_values"));
  const bool says_int = says_type && !says_float && Holds(type->AsString(), "int");
  const bool are_whole = low.is_int() && high.is_int();
  if (says_int || (are_whole && !says_float && !says_type)) {
    const std::string above =
        hi ? ToJson(Value(static_cast<int64_t>(std::llround(*hi)) + 1)) : Shown(high);
    return std::string("{") + (is_log ? "lograndint" : "randint") + ": [" + ToJson(low) + ", " +
           above + "]}, whose end is not a value";
  }
  return std::string("{") + (is_log ? "loguniform" : "uniform") + ": [" +
         (lo ? ToJson(Value(*lo)) : Shown(low)) + ", " + (hi ? ToJson(Value(*hi)) : Shown(high)) +
         "]}";
}

// What the map says in our form; nothing where it is no domain of another tool.
std::optional<std::string> OwnForm(const Value& map) {
  for (const MapEntry& entry : map.AsMap()) {
    const bool is_list = IsOneOf(entry.key, kListNames) || IsOneOf(entry.key, kBoundsNames);
    const bool is_known = is_list || IsOneOf(entry.key, kLowNames) ||
                          IsOneOf(entry.key, kHighNames) || IsOneOf(entry.key, kOtherNames);
    if (entry.key == "when") continue;
    if (entry.key == "feasibleSpace" && entry.value.is_map()) {
      std::optional<std::string> inner = OwnForm(entry.value);
      if (inner) return inner;
    }
    // Under one of these names: a group that has a domain, or more, of its own.
    if (!is_known || entry.value.is_map() || (!is_list && !IsPlain(entry.value))) {
      return std::nullopt;
    }
  }
  const Value* const low = FindAny(map, kLowNames);
  const Value* const high = FindAny(map, kHighNames);
  if (low != nullptr && high != nullptr) return RangeText(map, *low, *high);
  const Value* const bounds = FindAny(map, kBoundsNames);
  if (bounds != nullptr && bounds->is_list() && bounds->AsList().size() == 2) {
    return RangeText(map, bounds->AsList()[0], bounds->AsList()[1]);
  }
  const Value* const list = FindAny(map, kListNames);
  if (list == nullptr) return std::nullopt;
  const bool is_range = SaysAnywhere(map, "uniform") || SaysAnywhere(map, "randint");
  if (list->is_list() && is_range && list->AsList().size() == 2) {
    return RangeText(map, list->AsList()[0], list->AsList()[1]);
  }
  if (list->is_list()) return "{choice: " + ListText(*list) + "}";
  return Shown(*list) + ", a constant";
}

// "loguniform(1e-5, 1e-1)" of "tune.loguniform(1e-5, 1e-1)".
std::optional<std::string> OwnFormOfCall(const std::string& text) {
  const size_t open = text.find('(');
  if (open == std::string::npos || !text.ends_with(')')) return std::nullopt;
  std::string name = text.substr(0, open);
  const size_t dot = name.rfind('.');
  const bool has_module = dot != std::string::npos;
  if (has_module) name.erase(0, dot + 1);
  if (name == "suggest_float") name = "uniform";
  if (name == "suggest_int") name = "randint";
  if (name == "suggest_categorical") name = "choice";
  if (name == "log_uniform") name = "loguniform";
  const auto names = Domain::Names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  std::string arguments = text.substr(open + 1, text.size() - open - 2);
  if (arguments.starts_with('[') && arguments.ends_with(']')) {
    arguments = arguments.substr(1, arguments.size() - 2);
  }
  return "{" + name + ": [" + arguments + "]}";
}

Status RefuseEntry(const MapEntry& entry, const std::string& name) {
  const Value& value = entry.value;
  if (value.is_list()) {
    return InvalidAt(value.place,
                     "space: " + name + ": read a list, expected {choice: " + ListText(value) +
                         "}, or {const: " + ListText(value) + "} for a list that is one value");
  }
  if (value.is_string()) {
    const std::optional<std::string> own = OwnFormOfCall(value.AsString());
    if (!own) return OkStatus();
    return InvalidAt(value.place, "space: " + name + ": read " + Shown(value) +
                                      ", the form of another tool; expected " + *own);
  }
  if (!value.is_map() || IsAutoTunerForm(value)) return OkStatus();
  const bool is_own = std::any_of(value.AsMap().begin(), value.AsMap().end(), [](const auto& each) {
    const auto names = Domain::Names();
    return each.key == "const" || each.key == "constant" ||
           std::find(names.begin(), names.end(), each.key) != names.end();
  });
  if (is_own) return OkStatus();
  if (const std::optional<std::string> own = OwnForm(value)) {
    return InvalidAt(value.place,
                     "space: " + name + ": read " + ListText(value) +
                         ", the form of another tool; expected " + *own +
                         " (nested constants of these names are written {const: ...})");
  }
  if (MistypedDomain(value) != nullptr) return OkStatus();  // The reader of the space says so.
  for (const MapEntry& nested : value.AsMap()) {
    if (nested.key == "when") continue;
    TUNE_RETURN_IF_ERROR(RefuseEntry(nested, name + "/" + nested.key));
  }
  return OkStatus();
}

}  // namespace

const MapEntry* MistypedDomain(const Value& map) {
  std::vector<const MapEntry*> keys;
  for (const MapEntry& each : map.AsMap()) {
    if (each.key != "when") keys.push_back(&each);
  }
  if (keys.size() > 1) {
    std::erase_if(keys, [](const MapEntry* each) { return each->key == "guess"; });
  }
  if (keys.size() > 1) {
    // Of a model's layers and weights both may be parameters.
    std::erase_if(keys, [](const MapEntry* each) { return each->key == "weights"; });
    if (keys.size() == 1 && !NearestName(keys[0]->key, Domain::Names())) return nullptr;
  }
  return keys.size() == 1 && keys[0]->value.is_list() ? keys[0] : nullptr;
}

Status RefuseForeignDomains(const Value& space) {
  if (!space.is_map()) return OkStatus();
  for (const MapEntry& entry : space.AsMap()) {
    TUNE_RETURN_IF_ERROR(RefuseEntry(entry, entry.key));
  }
  return OkStatus();
}

}  // namespace tune
