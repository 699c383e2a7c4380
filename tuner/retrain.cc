#include "tuner/retrain.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "core/random.h"

namespace tune {
namespace {

constexpr char kIterationName[] = "training_iteration";

void Erase(std::string_view key, Value& map) {
  std::erase_if(map.AsMap(), [&](const MapEntry& entry) { return entry.key == key; });
}

// The map under a key; made where there is none.
Value& MapAt(std::string_view key, Value& map) {
  Value* const there = map.Find(key);
  return there != nullptr && there->is_map() ? *there : map.Set(key, Value::MakeMap());
}

// What the space draws; its constants are there anyway.
Value PointOf(const Configuration& configuration, const SearchSpace& space) {
  Value point = Value::MakeMap();
  for (const SpaceParameter& parameter : space.parameters()) {
    const Value* const value = configuration.Find(parameter.name);
    if (value == nullptr || std::holds_alternative<Value>(parameter.content)) continue;
    point.Set(parameter.name, *value);
  }
  return point;
}

}  // namespace

Value WithoutGrids(Value space) {
  if (!space.is_map()) return space;
  for (MapEntry& entry : space.AsMap()) {
    if (entry.key == "grid_search" && entry.value.is_list()) entry.key = "choice";
    entry.value = WithoutGrids(std::move(entry.value));
  }
  return space;
}

Value RetrainDocument(const Value& document, const SearchSpace& space, std::optional<int64_t> max_t,
                      const RetrainPlan& plan) {
  Value result = document;
  result.Set("name", plan.name);
  result.Set("seed", static_cast<int64_t>(plan.seed));
  result.Set("samples", static_cast<int64_t>(plan.configurations.size()));
  result.Set("scheduler", "fifo");
  Value search = Value::MakeMap();
  search.Set("algorithm", "random");  // It is never asked: the points are all there is.
  search.Set("repeat", plan.runs);
  result.Set("search", std::move(search));
  Erase("after", result);  // What it followed is over.
  Erase("from", result);
  Erase("until", result);
  // Points come in addition to a grid, which nobody wants again here.
  if (Value* const domains = result.Find("space")) *domains = WithoutGrids(std::move(*domains));
  Value points = Value::MakeList();
  for (const Configuration& configuration : plan.configurations) {
    points.AsList().push_back(PointOf(configuration, space));
  }
  result.Set("points", std::move(points));
  if (max_t) {
    Value& stop = MapAt("stop", result);
    const Value* const own = stop.Find(kIterationName);
    const bool is_sooner =
        own != nullptr && own->is_number() && own->AsDouble() <= static_cast<double>(*max_t);
    if (!is_sooner) stop.Set(kIterationName, *max_t);
  }
  if (Value* const limits = result.Find("limits"); limits != nullptr && limits->is_map()) {
    Erase("sweep_time", *limits);
    Erase("failed_trials", *limits);
  }
  return result;
}

uint64_t RetrainSeed(uint64_t seed) {
  // Seeds are shown and read as numbers of JSON: 53 bits.
  return KeyedRandom(seed, "retrain").NextU64() >> 11;
}

}  // namespace tune
