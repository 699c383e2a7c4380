#include "search/space.h"

#include <algorithm>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

bool IsDomainName(std::string_view name) {
  const auto names = Domain::Names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsDomain(const Value& value) {
  return value.is_map() &&
         std::any_of(value.AsMap().begin(), value.AsMap().end(),
                     [](const MapEntry& entry) { return IsDomainName(entry.key); });
}

// A map of parameters, unless it is one key with a list: that is a domain whose name was mistyped.
Status RefuseUnknownDomain(const Value& map) {
  if (map.AsMap().empty()) {
    return InvalidAt(map.place, "an empty map; expected a domain or nested parameters");
  }
  const MapEntry& entry = map.AsMap().front();
  if (map.AsMap().size() != 1 || !entry.value.is_list()) return OkStatus();
  return InvalidAt(entry.key_place, "'" + entry.key + "' is not a domain" +
                                        DidYouMean(entry.key, Domain::Names()) +
                                        " (a nested parameter with a constant list is written {" +
                                        entry.key + ": {choice: [[...]]}})");
}

Status CheckName(const MapEntry& entry) {
  if (entry.key.empty()) return InvalidAt(entry.key_place, "a parameter's name is empty");
  if (entry.key.size() > limits::kNameBytesMax) {
    return InvalidAt(entry.key_place, "a parameter's name is longer than " +
                                          std::to_string(limits::kNameBytesMax) + " bytes");
  }
  if (entry.key.find('/') != std::string::npos) {
    return InvalidAt(entry.key_place, "the parameter's name '" + entry.key +
                                          "' has a '/'; write nested maps instead");
  }
  return OkStatus();
}

Status ReadParameters(const Value& map, const std::string& prefix,
                      std::vector<SpaceParameter>& out) {
  for (const MapEntry& entry : map.AsMap()) {
    TUNE_RETURN_IF_ERROR(CheckName(entry));
    const std::string name = prefix + entry.key;
    if (entry.value.is_map() && !IsDomain(entry.value)) {
      TUNE_RETURN_IF_ERROR(RefuseUnknownDomain(entry.value));
      TUNE_RETURN_IF_ERROR(ReadParameters(entry.value, name + "/", out));
      continue;
    }
    if (static_cast<int64_t>(out.size()) >= limits::kParametersMax) {
      return InvalidAt(entry.key_place,
                       "more than " + std::to_string(limits::kParametersMax) + " parameters");
    }
    if (entry.value.is_map()) {
      TUNE_ASSIGN_OR_RETURN(Domain domain, Domain::Parse(entry.value));
      out.push_back(SpaceParameter{name, std::move(domain), entry.key_place});
    } else {
      out.push_back(SpaceParameter{name, entry.value, entry.key_place});
    }
  }
  return OkStatus();
}

}  // namespace

Result<SearchSpace> SearchSpace::Parse(const Value& space) {
  SearchSpace result;
  if (space.is_null()) return result;
  if (!space.is_map()) {
    return InvalidAt(space.place, "space: read " + Shown(space) +
                                      ", expected a map from parameters to domains or constants");
  }
  const Status status = ReadParameters(space, "", result.parameters_);
  if (!status.ok()) return status;
  return result;
}

bool SearchSpace::Allows(const Configuration&) const { return true; }

}  // namespace tune
