#include "tuner/spec_difference.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/json.h"

namespace tune {
namespace {

std::string Shown(const Value* value) {
  if (value == nullptr) return "nothing";
  constexpr size_t kShownMax = 80;
  const std::string text = ToJson(*value);
  return text.size() <= kShownMax ? text : text.substr(0, kShownMax) + "...";
}

class Comparison {
 public:
  void Compare(const std::string& place, const Value* stored, const Value* file) {
    if (stored == nullptr && file == nullptr) return;
    if (stored != nullptr && file != nullptr) {
      if (*stored == *file) return;
      if (stored->is_map() && file->is_map()) return CompareMaps(place, *stored, *file);
      if (stored->is_list() && file->is_list()) return CompareLists(place, *stored, *file);
    }
    places_.push_back({place, Shown(stored), Shown(file), false});
  }

  // What differs: the place, and both.
  struct Place {
    std::string name;
    std::string stored;
    std::string file;
    bool is_order = false;  // The same entries in another one.
  };
  const std::vector<Place>& places() const { return places_; }

 private:
  void CompareMaps(const std::string& place, const Value& stored, const Value& file) {
    const size_t before = places_.size();
    for (const MapEntry& entry : stored.AsMap()) {
      Compare(place + "." + entry.key, &entry.value, file.Find(entry.key));
    }
    for (const MapEntry& entry : file.AsMap()) {
      if (stored.Find(entry.key) == nullptr) {
        Compare(place + "." + entry.key, nullptr, &entry.value);
      }
    }
    if (places_.size() == before) places_.push_back({place, "one order", "another order", true});
  }

  void CompareLists(const std::string& place, const Value& stored, const Value& file) {
    const auto at = [](const Value& list, size_t i) {
      return i < list.AsList().size() ? &list.AsList()[i] : nullptr;
    };
    const size_t count = std::max(stored.AsList().size(), file.AsList().size());
    for (size_t i = 0; i < count; ++i) {
      Compare(place + "[" + std::to_string(i) + "]", at(stored, i), at(file, i));
    }
  }

  std::vector<Place> places_;
};

Value OrFifo(const Value& scheduler) { return scheduler.is_null() ? Value("fifo") : scheduler; }

Value NameOrNull(const std::string& name) { return name.empty() ? Value() : Value(name); }

Value EarlierOf(const ExperimentSpec& spec) {
  if (spec.from.empty()) return Value();
  return Value((spec.from_is_prior ? "prior: " : "") + spec.from);
}

const Value* OrNothing(const Value& value) { return value.is_null() ? nullptr : &value; }

Value OrRandom(const Value& search) {
  Value random = Value::MakeMap();
  random.Set("algorithm", "random");
  return search.is_null() ? random : search;
}

// As a space file writes them: of several objectives a list.
Value MetricsOf(const ExperimentSpec& spec) {
  if (spec.more_objectives.empty()) return spec.metric;
  Value::List list = {spec.metric};
  for (const Objective& objective : spec.more_objectives) list.emplace_back(objective.metric);
  return list;
}

Value ModeName(Mode mode) { return mode == Mode::kMax ? "max" : "min"; }

Value ModesOf(const ExperimentSpec& spec) {
  if (spec.more_objectives.empty()) return ModeName(spec.mode);
  Value::List list = {ModeName(spec.mode)};
  for (const Objective& objective : spec.more_objectives) list.push_back(ModeName(objective.mode));
  return list;
}

Value OrNullInt(const std::optional<int64_t>& number) { return number ? Value(*number) : Value(); }
Value OrNullNumber(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

// Of metric_constraints or feasible. One alone may stand there without a list; null: there is none.
Value TextsOf(const ExperimentSpec& spec, std::string_view key) {
  const Value* const texts = spec.document.Find(key);
  if (texts == nullptr || texts->is_null()) return Value();
  return texts->is_list() ? *texts : Value(Value::List{*texts});
}

// Which kind of trainable it is; null: none is named.
Value KindOf(const ExperimentSpec& spec) {
  if (!spec.trainable.is_map()) return spec.trainable;
  const char* const kKinds[] = {"command", "curve"};
  for (const char* const kind : kKinds) {
    if (spec.trainable.Find(kind) != nullptr) return kind;
  }
  return Value();
}

}  // namespace

std::vector<std::string> DescribeSpecDifferences(const ExperimentSpec& stored,
                                                 const ExperimentSpec& file) {
  Comparison comparison;
  const Value metrics[] = {MetricsOf(stored), MetricsOf(file)};
  const Value modes[] = {ModesOf(stored), ModesOf(file)};
  const Value searches[] = {OrRandom(stored.search), OrRandom(file.search)};
  const Value schedulers[] = {OrFifo(stored.scheduler), OrFifo(file.scheduler)};
  comparison.Compare("space", &stored.space, &file.space);
  comparison.Compare("constraints", OrNothing(stored.constraints), OrNothing(file.constraints));
  comparison.Compare("points", OrNothing(stored.points), OrNothing(file.points));
  const Value earlier[] = {EarlierOf(stored), EarlierOf(file)};
  comparison.Compare("from", OrNothing(earlier[0]), OrNothing(earlier[1]));
  comparison.Compare("metric", &metrics[0], &metrics[1]);
  comparison.Compare("mode", &modes[0], &modes[1]);
  const Value until[] = {OrNullInt(stored.no_gain_max), OrNullInt(file.no_gain_max)};
  comparison.Compare("until.no_gain", OrNothing(until[0]), OrNothing(until[1]));
  const Value regrets[] = {OrNullNumber(stored.regret_max), OrNullNumber(file.regret_max)};
  comparison.Compare("until.regret", OrNothing(regrets[0]), OrNothing(regrets[1]));
  for (const char* const key : {"metric_constraints", "feasible"}) {
    const Value texts[] = {TextsOf(stored, key), TextsOf(file, key)};
    comparison.Compare(key, OrNothing(texts[0]), OrNothing(texts[1]));
  }
  comparison.Compare("search", &searches[0], &searches[1]);
  comparison.Compare("scheduler", &schedulers[0], &schedulers[1]);
  // A worker that is away goes by the lease that it was told.
  const Value leases[] = {FormatDuration(stored.limits.lease), FormatDuration(file.limits.lease)};
  comparison.Compare("limits.lease", &leases[0], &leases[1]);
  // What is kept there is found there.
  const Value storages[] = {NameOrNull(stored.checkpoint.storage),
                            NameOrNull(file.checkpoint.storage)};
  comparison.Compare("checkpoint.storage", OrNothing(storages[0]), OrNothing(storages[1]));
  const Value kinds[] = {KindOf(stored), KindOf(file)};
  comparison.Compare("trainable", &kinds[0], &kinds[1]);
  std::vector<std::string> lines;
  for (const Comparison::Place& place : comparison.places()) {
    lines.push_back(place.name + ": " +
                    (place.is_order ? "has the same entries in another order"
                                    : place.stored + " is stored, the file has " + place.file));
  }
  return lines;
}

Value WithSettings(Value document, const Value& other) {
  for (const std::string_view key : kSettings) {
    if (const Value* const own = other.Find(key)) {
      document.Set(key, *own);
    } else {
      std::erase_if(document.AsMap(), [key](const MapEntry& entry) { return entry.key == key; });
    }
  }
  return document;
}

std::vector<std::string> DescribeSettingsChanges(const Value& before, const Value& after) {
  Comparison comparison;
  // A section that was not there is one in which nothing is set.
  const Value nothing = Value::MakeMap();
  const auto section = [&](const Value& own, const Value& other, std::string_view key) {
    const Value* const value = own.Find(key);
    const Value* const beside = other.Find(key);
    return value == nullptr && beside != nullptr && beside->is_map() ? &nothing : value;
  };
  for (const std::string_view key : kSettings) {
    comparison.Compare(std::string(key), section(before, after, key), section(after, before, key));
  }
  std::vector<std::string> lines;
  for (const Comparison::Place& place : comparison.places()) {
    const auto shown = [](const std::string& text) { return text == "nothing" ? "not set" : text; };
    lines.push_back(place.name + " is " + shown(place.file) + ", was " + shown(place.stored));
  }
  return lines;
}

}  // namespace tune
