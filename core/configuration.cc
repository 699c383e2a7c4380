#include "core/configuration.h"

namespace tune {

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
  if (!flat.is_list()) return DataLoss("a configuration is not a list of pairs");
  for (const Value& pair : flat.AsList()) {
    if (!pair.is_list() || pair.AsList().size() != 2 || !pair.AsList()[0].is_string()) {
      return DataLoss("a configuration is not a list of pairs");
    }
    configuration.Set(pair.AsList()[0].AsString(), pair.AsList()[1]);
  }
  return configuration;
}

}  // namespace tune
