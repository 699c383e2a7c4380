#include "tuner/spec_reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "search/foreign_domain.h"
#include "trial_runner/secrets.h"
#include "tuner/spec_parts.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

void SetPlaces(const Place& place, Value& value) {
  value.place = place;
  if (value.is_list()) {
    for (Value& item : value.AsList()) SetPlaces(place, item);
  } else if (value.is_map()) {
    for (MapEntry& entry : value.AsMap()) {
      entry.key_place = place;
      SetPlaces(place, entry.value);
    }
  }
}

std::string_view PathOf(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

Status Apply(std::string_view assignment, const Place& place, Value& document) {
  const size_t equals = assignment.find('=');
  const std::string label = "--set " + std::string(assignment.substr(0, equals)) + ": ";
  if (equals == std::string_view::npos || equals == 0) {
    return InvalidArgument("--set: read '" + std::string(assignment) +
                           "', expected PATH=VALUE such as scheduler.asha.max_t=10");
  }
  if (assignment.substr(equals + 1).find_first_not_of(" \t") == std::string_view::npos) {
    return InvalidArgument(label +
                           "there is no value behind '='; null stands for none, and '' in "
                           "quotes of its own for an empty text");
  }
  Result<Value> value = ParseYaml(assignment.substr(equals + 1));
  if (!value.ok()) return InvalidArgument(label + value.status().message());
  SetPlaces(place, *value);

  Value* map = &document;
  std::string_view rest = assignment.substr(0, equals);
  for (;;) {
    const size_t dot = rest.find('.');
    const std::string_view key = rest.substr(0, dot);
    if (key.empty()) return InvalidArgument(label + "a name in the path is empty");
    if (map->is_null()) {
      *map = Value::MakeMap();
      map->place = place;
    }
    if (!map->is_map()) {
      return InvalidArgument(label + "what stands before '" + std::string(key) + "' is " +
                             Shown(*map) + ", not a map");
    }
    const bool is_last = dot == std::string_view::npos;
    if (is_last || map->Find(key) == nullptr) {
      map->Set(key, is_last ? *std::move(value) : Value());
      for (MapEntry& entry : map->AsMap()) {
        if (entry.key == key) entry.key_place = place;
      }
    }
    if (is_last) return OkStatus();
    map = map->Find(key);
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

Result<std::string> ReadDocumentText(const std::string& path, const char* what) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return InvalidArgument(path + ": there is no such file");
  }
  if (status.type() == fs::file_type::directory) {
    return InvalidArgument(path + ": is a folder; expected " + what);
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return InvalidArgument(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : EIO));
  }
  std::string text(limits::kSpecBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return InvalidArgument(path + ": cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.empty()) return InvalidArgument(path + ": is empty; expected " + what);
  return text;
}

Status ApplyOverride(std::string_view assignment, Value& document) {
  return Apply(assignment, OverridePlace(1), document);
}

Status ApplyOverrides(const std::vector<std::string>& assignments, Value& document) {
  for (size_t i = 0; i < assignments.size(); ++i) {
    TUNE_RETURN_IF_ERROR(Apply(assignments[i], OverridePlace(static_cast<int>(i) + 1), document));
  }
  return OkStatus();
}

Status NameOverride(const Status& status, const std::vector<std::string>& overrides) {
  constexpr std::string_view kMark = "--set ";
  const std::string& message = status.message();
  const size_t colon = message.find(": ");
  if (!message.starts_with(kMark) || colon == std::string::npos) return status;
  const std::string number = message.substr(kMark.size(), colon - kMark.size());
  for (size_t i = 0; i < overrides.size(); ++i) {
    if (number != std::to_string(i + 1)) continue;
    const std::string path(PathOf(overrides[i]));
    std::string_view what = std::string_view(message).substr(colon + 2);
    if (what.starts_with(path + ": ")) what.remove_prefix(path.size() + 2);
    return Status(status.code(), std::string(kMark) + path + ": " + std::string(what));
  }
  return status;
}

std::vector<Secret> SecretsOfOverrides(const std::vector<std::string>& overrides) {
  std::vector<Secret> secrets;
  for (const std::string& assignment : overrides) {
    Value document = Value::MakeMap();
    if (!ApplyOverride(assignment, document).ok()) continue;
    for (Secret& secret : TakeSecrets(document)) secrets.push_back(std::move(secret));
  }
  return secrets;
}

Result<ExperimentSpec> InterpretStoredSpec(std::string_view json, const std::string& sweep,
                                           std::string_view base_dir, bool require_trainable) {
  const std::string place = "the stored spec of " + sweep;
  const Result<Value> document = ParseJson(json);
  if (!document.ok()) return document.status().At(place);
  return InterpretSpec(*document, place, base_dir, require_trainable);
}

Result<ExperimentSpec> ReadSpecFile(const std::string& path,
                                    const std::vector<std::string>& overrides,
                                    bool require_trainable) {
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadDocumentText(path, "a space file"));
  Result<Value> document = ParseYaml(text);
  if (!document.ok()) return InFile(path, document.status());
  TUNE_RETURN_IF_ERROR(ApplyOverrides(overrides, *document));
  if (const Status mixed = RefuseSecretsWithParameters(*document); !mixed.ok()) {
    return NameOverride(InFile(path, mixed), overrides);
  }
  std::vector<Secret> secrets = TakeSecrets(*document);
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return InvalidArgument(path + ": " + error.message());
  if (const Value* const space = document->is_map() ? document->Find("space") : nullptr) {
    const Status own = InFile(path, RefuseForeignDomains(*space));
    if (!own.ok()) return NameOverride(own, overrides);
  }
  Result<ExperimentSpec> spec = InterpretSpec(
      *document, path, absolute.parent_path().lexically_normal().string(), require_trainable);
  if (!spec.ok()) return NameOverride(spec.status(), overrides);
  const Status values = InFile(path, CheckValues(*spec));
  if (!values.ok()) return NameOverride(values, overrides);
  spec->secrets = std::move(secrets);
  return spec;
}

}  // namespace tune
