// A tree of plain values with the place each was read from: what a YAML or JSON text becomes before
// anyone gives it a meaning, and what a configuration is made of. A number keeps its kind: 1 is an
// integer, 1.0 is not.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tune {

// 1-based; 0 where the value was not read from a text.
struct Place {
  int line = 0;
  int column = 0;
};

struct MapEntry;

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::vector<MapEntry>;  // In the order of the text; keys are unique.

  Value() = default;  // Null.
  // Defined below, where MapEntry is complete.
  Value(bool v);              // NOLINT(google-explicit-constructor)
  Value(int v);               // NOLINT(google-explicit-constructor)
  Value(int64_t v);           // NOLINT(google-explicit-constructor)
  Value(double v);            // NOLINT(google-explicit-constructor)
  Value(std::string v);       // NOLINT(google-explicit-constructor)
  Value(std::string_view v);  // NOLINT(google-explicit-constructor)
  Value(const char* v);       // NOLINT(google-explicit-constructor)
  Value(List v);              // NOLINT(google-explicit-constructor)
  Value(Map v);               // NOLINT(google-explicit-constructor)
  static Value MakeList();
  static Value MakeMap();

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_double() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }
  bool is_scalar() const { return !is_list() && !is_map(); }

  // Each requires its kind (AsDouble: any number).
  bool AsBool() const;
  int64_t AsInt() const;
  double AsDouble() const;
  const std::string& AsString() const;
  const List& AsList() const;
  List& AsList();
  const Map& AsMap() const;
  Map& AsMap();

  // Requires a map. Find: null when the key is absent. Set: replaces, or appends at the end.
  const Value* Find(std::string_view key) const;
  Value* Find(std::string_view key);
  Value& Set(std::string_view key, Value value);

  // "null", "a boolean", "an integer", "a number", "a string", "a list" or "a map", for messages.
  const char* KindName() const;

  Place place;

  // Equal kinds and contents; places do not count.
  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Map> data_;
};

struct MapEntry {
  std::string key;
  Value value;
  Place key_place;

  friend bool operator==(const MapEntry& a, const MapEntry& b) {
    return a.key == b.key && a.value == b.value;
  }
};

inline Value::Value(bool v) : data_(v) {}
inline Value::Value(int v) : data_(static_cast<int64_t>(v)) {}
inline Value::Value(int64_t v) : data_(v) {}
inline Value::Value(double v) : data_(v) {}
inline Value::Value(std::string v) : data_(std::move(v)) {}
inline Value::Value(std::string_view v) : data_(std::string(v)) {}
inline Value::Value(const char* v) : data_(std::string(v)) {}
inline Value::Value(List v) : data_(std::move(v)) {}
inline Value::Value(Map v) : data_(std::move(v)) {}
inline Value Value::MakeList() { return Value(List()); }

}  // namespace tune
