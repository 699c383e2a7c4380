#include <charconv>
#include <limits>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "tuner/cli/head/submit_again.h"

namespace tune {
namespace {

constexpr char kKey[] = "again";

Status Unexpected(const MapEntry& argument, const std::string& expected) {
  return InvalidArgument("again." + argument.key + ": read " + Shown(argument.value) +
                         ", expected " + expected);
}

Status ReadSeed(const MapEntry& argument, AgainOptions& again) {
  const std::string digits = argument.value.is_string() ? argument.value.AsString() : "";
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Unexpected(argument, "a text of digits, below 2^64");
  }
  again.seed = seed;
  return OkStatus();
}

Status ReadArgument(const MapEntry& argument, AgainOptions& again) {
  const Value& value = argument.value;
  if (argument.key == "name") {
    if (!value.is_string()) return Unexpected(argument, "a text");
    again.name = value.AsString();
  } else if (argument.key == "samples") {
    const bool is_count = value.is_int() && value.AsInt() >= -1 && value.AsInt() != 0 &&
                          value.AsInt() <= limits::kSamplesMax;
    if (!is_count) {
      return Unexpected(argument, "an integer from 1 to " + std::to_string(limits::kSamplesMax) +
                                      ", or -1 for no limit");
    }
    again.samples = value.AsInt();
  } else if (argument.key == "settings") {
    if (!value.is_list()) return Unexpected(argument, "a list of KEY=VALUE");
    for (const Value& setting : value.AsList()) {
      if (!setting.is_string()) return Unexpected(argument, "a list of KEY=VALUE");
      again.settings.push_back(setting.AsString());
    }
  } else if (argument.key == "seed") {
    return ReadSeed(argument, again);
  } else {
    return InvalidArgument("again: unknown key '" + ToUtf8(argument.key.substr(0, 40)) + "'");
  }
  return OkStatus();
}

}  // namespace

bool IsAgain(std::string_view body) {
  const Result<Value> action = ParseJson(body);
  return action.ok() && action->is_map() && action->Find(kKey) != nullptr;
}

Result<AgainOptions> ReadAgain(std::string_view body, std::string_view sweep) {
  TUNE_ASSIGN_OR_RETURN(const Value action, ParseJson(body));
  const Value* const arguments = action.is_map() ? action.Find(kKey) : nullptr;
  if (arguments == nullptr || !arguments->is_map() || action.AsMap().size() != 1) {
    return InvalidArgument(R"(the body: expected {"again": {"samples": 20}})");
  }
  AgainOptions again;
  again.sweep = std::string(sweep);
  for (const MapEntry& argument : arguments->AsMap()) {
    TUNE_RETURN_IF_ERROR(ReadArgument(argument, again));
  }
  return again;
}

std::string EncodeAgain(const AgainOptions& again) {
  Value arguments = Value::MakeMap();
  if (again.name) arguments.Set("name", *again.name);
  if (again.samples) arguments.Set("samples", *again.samples);
  if (again.seed) arguments.Set("seed", std::to_string(*again.seed));
  if (!again.settings.empty()) {
    Value settings = Value::MakeList();
    for (const std::string& setting : again.settings) settings.AsList().emplace_back(setting);
    arguments.Set("settings", std::move(settings));
  }
  Value action = Value::MakeMap();
  action.Set(kKey, std::move(arguments));
  return ToJson(action);
}

}  // namespace tune
