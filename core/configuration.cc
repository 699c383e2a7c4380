#include "core/configuration.h"

#include <map>
#include <optional>

namespace tune {
namespace {

// What stands under a name, or under the beginning of one, by its place in its map.
struct Spot {
  size_t index = 0;
  bool is_value = false;  // Of a parameter; else a map of several.
};

// Nothing is looked for among what is there: a thousand names cost no million comparisons. Nothing
// where a name is the beginning of another one, as "a" is of "a/b".
std::optional<Value> NestDistinct(const std::vector<Configuration::Parameter>& parameters) {
  Value root = Value::MakeMap();
  std::map<std::string_view, Spot> spots;
  for (const auto& [name, value] : parameters) {
    Value::Map* map = &root.AsMap();
    size_t begin = 0;
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', begin)) {
      const std::string_view beginning = std::string_view(name).substr(0, slash);
      const auto [spot, is_new] = spots.try_emplace(beginning, Spot{map->size(), false});
      if (spot->second.is_value) return std::nullopt;
      if (is_new) map->push_back({name.substr(begin, slash - begin), Value::MakeMap(), Place{}});
      map = &(*map)[spot->second.index].value.AsMap();
      begin = slash + 1;
    }
    if (!spots.try_emplace(name, Spot{map->size(), true}).second) return std::nullopt;
    map->push_back({name.substr(begin), value, Place{}});
  }
  return root;
}

}  // namespace

void Configuration::Set(std::string_view name, Value value) {
  for (Parameter& parameter : parameters_) {
    if (parameter.first == name) {
      parameter.second = std::move(value);
      return;
    }
  }
  parameters_.emplace_back(std::string(name), std::move(value));
}

const Value* Configuration::Find(std::string_view name) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.first == name) return &parameter.second;
  }
  return nullptr;
}

Value Configuration::ToNested() const {
  if (std::optional<Value> nested = NestDistinct(parameters_)) return *std::move(nested);
  Value root = Value::MakeMap();
  for (const auto& [name, value] : parameters_) {
    Value* map = &root;
    std::string_view rest = name;
    for (size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
      const std::string_view part = rest.substr(0, slash);
      Value* child = map->Find(part);
      map = child != nullptr && child->is_map() ? child : &map->Set(part, Value::MakeMap());
      rest.remove_prefix(slash + 1);
    }
    map->Set(rest, value);
  }
  return root;
}

Value Configuration::ToFlat() const {
  Value::List list;
  for (const auto& [name, value] : parameters_) list.push_back(Value(Value::List{name, value}));
  return Value(std::move(list));
}

Result<Configuration> Configuration::FromFlat(const Value& flat) {
  Configuration configuration;
  std::map<std::string_view, size_t> places;
  if (!flat.is_list()) return DataLoss("a configuration is not a list of pairs");
  for (const Value& pair : flat.AsList()) {
    if (!pair.is_list() || pair.AsList().size() != 2 || !pair.AsList()[0].is_string()) {
      return DataLoss("a configuration is not a list of pairs");
    }
    const std::string& name = pair.AsList()[0].AsString();
    const auto [place, is_new] = places.try_emplace(name, configuration.parameters_.size());
    if (is_new) {
      configuration.Append(name, pair.AsList()[1]);
    } else {
      configuration.parameters_[place->second].second = pair.AsList()[1];
    }
  }
  return configuration;
}

}  // namespace tune
