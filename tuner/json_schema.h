// What JSON Schemas (draft 7) of our files are made of.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value.h"

namespace tune::json_schema {

using Field = std::pair<std::string, Value>;

Value Object(const std::vector<Field>& fields);
Value List(std::vector<Value> items);
Value Words(std::span<const std::string_view> words);
Value Ref(const std::string& name);
Value About(Value schema, const std::string& about);
Value Type(const std::string& type);
Value Integer(int64_t least, const std::string& about);
// A map with these keys alone; each must have its schema in `properties`.
Value Section(std::span<const std::string_view> keys,
              const std::map<std::string, Value>& properties, const std::string& about);
// Definitions, for Ref: "90s", "20GB".
Value DurationForm();
Value BytesForm();

// As a text for a person, with its end of line.
std::string Printed(const Value& schema);

}  // namespace tune::json_schema
