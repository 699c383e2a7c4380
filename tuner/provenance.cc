#include "tuner/provenance.h"

#include <algorithm>
#include <utility>

#include "core/counted.h"
#include "core/json.h"

namespace tune {
namespace {

std::string TextAt(const Value& map, std::string_view key) {
  const Value* const value = map.Find(key);
  return value != nullptr && value->is_string() ? value->AsString() : std::string();
}

int64_t IntAt(const Value& map, std::string_view key) {
  const Value* const value = map.Find(key);
  return value != nullptr && value->is_int() ? value->AsInt() : 0;
}

std::optional<int64_t> ToldAt(const Value& map, std::string_view key) {
  const Value* const value = map.Find(key);
  return value != nullptr && value->is_int() ? std::optional(value->AsInt()) : std::nullopt;
}

const Value* MapAt(const Value& map, std::string_view key) {
  const Value* const value = map.Find(key);
  return value != nullptr && value->is_map() ? value : nullptr;
}

std::string Describe(const GitState& git) {
  constexpr size_t kCommitDigits = 12;
  const bool is_dirty = git.is_dirty.value_or(false);
  return git.commit.substr(0, kCommitDigits) + (is_dirty ? " with uncommitted changes" : "");
}

std::string Describe(const DataState& data) {
  return Counted(data.file_count, "file") + " of " + std::to_string(data.bytes) + " bytes (hash " +
         data.hash + ")";
}

Value ToValue(const DataState& state) {
  Value data = Value::MakeMap();
  data.Set("folder", state.folder);
  data.Set("files", state.file_count);
  data.Set("bytes", state.bytes);
  data.Set("hash", state.hash);
  return data;
}

DataState ToDataState(const Value& data) {
  return {TextAt(data, "folder"), IntAt(data, "files"), IntAt(data, "bytes"), TextAt(data, "hash")};
}

std::string Changed(const std::string& what, const std::string& was, const std::string& is) {
  return what + ": was " + was + ", is " + is;
}

}  // namespace

std::string EncodeProvenance(const Provenance& provenance) {
  Value value = Value::MakeMap();
  value.Set("version", provenance.version);
  value.Set("command", provenance.command);
  value.Set("host", provenance.host);
  value.Set("folder", provenance.folder);
  if (provenance.cpus) value.Set("cpus", *provenance.cpus);
  if (provenance.gpus) value.Set("gpus", *provenance.gpus);
  if (!provenance.package.sha256.empty()) {
    Value package = Value::MakeMap();
    package.Set("sha256", provenance.package.sha256);
    package.Set("bytes", provenance.package.bytes);
    value.Set("package", std::move(package));
  }
  if (provenance.is_elsewhere) value.Set("elsewhere", true);
  if (!provenance.by.empty()) value.Set("by", provenance.by);
  if (!provenance.submission.empty()) value.Set("submission", provenance.submission);
  if (provenance.git) {
    Value git = Value::MakeMap();
    git.Set("commit", provenance.git->commit);
    git.Set("dirty", provenance.git->is_dirty ? Value(*provenance.git->is_dirty) : Value());
    value.Set("git", std::move(git));
  }
  if (provenance.data) value.Set("data", ToValue(*provenance.data));
  if (!provenance.inputs.empty()) {
    Value inputs = Value::MakeList();
    for (const DataState& input : provenance.inputs) inputs.AsList().push_back(ToValue(input));
    value.Set("inputs", std::move(inputs));
  }
  if (!provenance.files.empty()) {
    Value files = Value::MakeMap();
    for (const auto& [path, hash] : provenance.files) files.Set(path, hash);
    value.Set("files", std::move(files));
  }
  return ToJson(value);
}

Result<Provenance> DecodeProvenance(std::string_view text) {
  TUNE_ASSIGN_OR_RETURN(const Value value, ParseJson(text));
  if (!value.is_map()) return DataLoss(std::string("read ") + value.KindName() + ", not a map");
  Provenance provenance;
  provenance.version = TextAt(value, "version");
  provenance.command = TextAt(value, "command");
  provenance.host = TextAt(value, "host");
  provenance.folder = TextAt(value, "folder");
  provenance.cpus = ToldAt(value, "cpus");
  provenance.gpus = ToldAt(value, "gpus");
  if (const Value* const package = MapAt(value, "package")) {
    provenance.package = {TextAt(*package, "sha256"), IntAt(*package, "bytes")};
  }
  const Value* const elsewhere = value.Find("elsewhere");
  provenance.is_elsewhere = elsewhere != nullptr && elsewhere->is_bool() && elsewhere->AsBool();
  provenance.by = TextAt(value, "by");
  provenance.submission = TextAt(value, "submission");
  if (const Value* const git = MapAt(value, "git")) {
    const Value* const dirty = git->Find("dirty");
    provenance.git = GitState{TextAt(*git, "commit"), std::nullopt};
    if (dirty != nullptr && dirty->is_bool()) provenance.git->is_dirty = dirty->AsBool();
  }
  if (const Value* const data = MapAt(value, "data")) provenance.data = ToDataState(*data);
  const Value* const inputs = value.Find("inputs");
  if (inputs != nullptr && inputs->is_list()) {
    for (const Value& input : inputs->AsList()) {
      if (input.is_map()) provenance.inputs.push_back(ToDataState(input));
    }
  }
  if (const Value* const files = MapAt(value, "files")) {
    for (const MapEntry& entry : files->AsMap()) {
      if (entry.value.is_string()) provenance.files[entry.key] = entry.value.AsString();
    }
  }
  return provenance;
}

std::vector<std::string> DescribeDifferences(const Provenance& was, const Provenance& is) {
  std::vector<std::string> lines;
  const auto compare = [&lines](const char* what, const std::string& a, const std::string& b) {
    if (!a.empty() && !b.empty() && a != b) lines.push_back(Changed(what, a, b));
  };
  compare("version of tune", was.version, is.version);
  compare("host", was.host, is.host);
  if (was.git && is.git && Describe(*was.git) != Describe(*is.git)) {
    lines.push_back(Changed("git", Describe(*was.git), Describe(*is.git)));
  }
  for (std::string& line : DescribeProgramDifferences(was, is)) lines.push_back(std::move(line));
  return lines;
}

std::vector<DataSeen> DataSeenOf(const Provenance& provenance) {
  std::vector<DataSeen> seen;
  for (const DataState& input : provenance.inputs) {
    if (seen.size() == kDataSeenMax) break;
    seen.push_back({input.folder, input.file_count, input.bytes, input.hash});
  }
  return seen;
}

std::vector<std::string> DescribeProgramDifferences(const Provenance& was, const Provenance& is) {
  std::vector<std::string> lines;
  if (was.data && is.data && was.data->hash != is.data->hash) {
    lines.push_back(Changed("data in " + is.data->folder, Describe(*was.data), Describe(*is.data)));
  }
  if (was.data && !is.data) {
    lines.push_back("data in " + was.data->folder + ": was " + Describe(*was.data) +
                    ", is not there");
  }
  for (const DataState& input : was.inputs) {
    const auto now = std::find_if(is.inputs.begin(), is.inputs.end(), [&input](const auto& other) {
      return other.folder == input.folder;
    });
    if (now == is.inputs.end() || now->hash == input.hash) continue;
    lines.push_back(Changed("data in " + input.folder, Describe(input), Describe(*now)));
  }
  for (const auto& [path, hash] : was.files) {
    const auto now = is.files.find(path);
    if (path.starts_with(kVariableEntry)) {  // An older build kept more digits, and of more.
      const bool is_known = now != is.files.end() && !hash.empty() && !now->second.empty();
      if (is_known && hash.front() != now->second.front()) lines.push_back(path + " has changed");
    } else if (now == is.files.end()) {
      lines.push_back(path + ": was there (hash " + hash + "), is not");
    } else if (now->second != hash) {
      lines.push_back(Changed(path, "of hash " + hash, "of hash " + now->second));
    }
  }
  return lines;
}

}  // namespace tune
