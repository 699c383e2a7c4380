#include "tuner/json_schema.h"

#include "core/check.h"
#include "core/json.h"

namespace tune::json_schema {
namespace {

void AppendIndented(const Value& value, const std::string& indent, std::string& out) {
  const std::string text = ToJson(value);
  constexpr size_t kShort = 100;
  if (text.size() <= kShort || !(value.is_map() || value.is_list())) {
    out += text;
    return;
  }
  const std::string inner = indent + "  ";
  const char open = value.is_map() ? '{' : '[';
  out += open;
  bool is_first = true;
  const auto begin = [&] { out += (std::exchange(is_first, false) ? "\n" : ",\n") + inner; };
  if (value.is_map()) {
    for (const MapEntry& entry : value.AsMap()) {
      begin();
      AppendJsonString(entry.key, out);
      out += ": ";
      AppendIndented(entry.value, inner, out);
    }
  } else {
    for (const Value& item : value.AsList()) {
      begin();
      AppendIndented(item, inner, out);
    }
  }
  out += "\n" + indent + (open == '{' ? '}' : ']');
}

}  // namespace

Value Object(const std::vector<Field>& fields) {
  Value map = Value::MakeMap();
  for (const auto& [key, value] : fields) map.Set(key, value);
  return map;
}

Value List(std::vector<Value> items) { return Value(std::move(items)); }

Value Words(std::span<const std::string_view> words) {
  Value list = Value::MakeList();
  for (const std::string_view word : words) list.AsList().emplace_back(word);
  return list;
}

Value Ref(const std::string& name) { return Object({{"$ref", "#/definitions/" + name}}); }

Value About(Value schema, const std::string& about) {
  schema.Set("description", about);
  return schema;
}

Value Type(const std::string& type) { return Object({{"type", type}}); }

Value Integer(int64_t least, const std::string& about) {
  return About(Object({{"type", "integer"}, {"minimum", least}}), about);
}

Value Section(std::span<const std::string_view> keys,
              const std::map<std::string, Value>& properties, const std::string& about) {
  Value known = Value::MakeMap();
  for (const std::string_view key : keys) {
    const auto found = properties.find(std::string(key));
    TUNE_CHECK(found != properties.end());
    known.Set(key, found->second);
  }
  return Object({{"description", about},
                 {"type", List({"object", "null"})},
                 {"properties", std::move(known)},
                 {"additionalProperties", false}});
}

Value DurationForm() {
  return Object({{"type", List({"string", "number"})}, {"examples", List({"90s", "10m", "2h"})}});
}

Value BytesForm() {
  return Object({{"type", List({"string", "integer"})}, {"examples", List({"512MiB", "20GB"})}});
}

std::string Printed(const Value& schema) {
  std::string out;
  AppendIndented(schema, "", out);
  return out + "\n";
}

}  // namespace tune::json_schema
