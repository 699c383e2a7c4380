#include "core/value.h"

#include "core/check.h"

namespace tune {

Value Value::MakeMap() { return Value(Map()); }

bool Value::AsBool() const {
  TUNE_CHECK(is_bool());
  return std::get<bool>(data_);
}

int64_t Value::AsInt() const {
  TUNE_CHECK(is_int());
  return std::get<int64_t>(data_);
}

double Value::AsDouble() const {
  TUNE_CHECK(is_number());
  return is_int() ? static_cast<double>(std::get<int64_t>(data_)) : std::get<double>(data_);
}

const std::string& Value::AsString() const {
  TUNE_CHECK(is_string());
  return std::get<std::string>(data_);
}

const Value::List& Value::AsList() const {
  TUNE_CHECK(is_list());
  return std::get<List>(data_);
}

Value::List& Value::AsList() {
  TUNE_CHECK(is_list());
  return std::get<List>(data_);
}

const Value::Map& Value::AsMap() const {
  TUNE_CHECK(is_map());
  return std::get<Map>(data_);
}

Value::Map& Value::AsMap() {
  TUNE_CHECK(is_map());
  return std::get<Map>(data_);
}

const Value* Value::Find(std::string_view key) const {
  for (const MapEntry& entry : AsMap()) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Value* Value::Find(std::string_view key) {
  return const_cast<Value*>(static_cast<const Value*>(this)->Find(key));
}

Value& Value::Set(std::string_view key, Value value) {
  if (Value* found = Find(key)) {
    *found = std::move(value);
    return *found;
  }
  AsMap().push_back(MapEntry{std::string(key), std::move(value), Place{}});
  return AsMap().back().value;
}

const char* Value::KindName() const {
  if (is_null()) return "null";
  if (is_bool()) return "a boolean";
  if (is_int()) return "an integer";
  if (is_double()) return "a number";
  if (is_string()) return "a string";
  return is_list() ? "a list" : "a map";
}

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

}  // namespace tune
