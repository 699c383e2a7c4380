#include "trial_runner/command/folder_record.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/json.h"
#include "core/value.h"

namespace tune {
namespace {

template <typename Texts>
Value ListOf(const Texts& texts) {
  Value list = Value::MakeList();
  for (const std::string& text : texts) list.AsList().emplace_back(text);
  return list;
}

// What another version wrote is no record: every reader below answers with nothing then.
struct Reader {
  const Value& map;
  bool is_whole = true;

  const Value* Take(std::string_view key, bool (Value::*is)() const) {
    const Value* const value = map.is_map() ? map.Find(key) : nullptr;
    const bool is_there = value != nullptr && (value->*is)();
    is_whole = is_whole && is_there;
    return is_there ? value : nullptr;
  }
  std::string Text(std::string_view key) {
    const Value* const value = Take(key, &Value::is_string);
    return value == nullptr ? "" : value->AsString();
  }
  int64_t Int(std::string_view key) {
    const Value* const value = Take(key, &Value::is_int);
    return value == nullptr ? 0 : value->AsInt();
  }
  bool Bool(std::string_view key) {
    const Value* const value = Take(key, &Value::is_bool);
    return value != nullptr && value->AsBool();
  }
  std::vector<std::string> Texts(std::string_view key) {
    std::vector<std::string> texts;
    const Value* const value = Take(key, &Value::is_list);
    if (value == nullptr) return texts;
    for (const Value& text : value->AsList()) {
      is_whole = is_whole && text.is_string();
      if (text.is_string()) texts.push_back(text.AsString());
    }
    return texts;
  }
};

std::set<std::string> SetOf(std::vector<std::string> texts) {
  return {std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end())};
}

std::set<std::string> SweepsOf(const std::set<std::string>& trials) {
  std::set<std::string> sweeps;
  for (const std::string& trial : trials) sweeps.insert(trial.substr(0, trial.rfind('/')));
  return sweeps;
}

void KeepCommon(std::set<std::string>& texts, const std::set<std::string>& others) {
  std::erase_if(texts, [&](const std::string& text) { return !others.contains(text); });
}

}  // namespace

bool FolderRecord::IsOver(const FolderMember& next) const {
  return running_.empty() && !sweeps_.contains(next.sweep);
}

void FolderRecord::GiveUp() {
  has_given_up_ = true;
  files_.clear();
}

std::set<int64_t> FolderRecord::processes() const {
  std::set<int64_t> processes;
  for (const auto& [trial, running] : running_) processes.insert(running.member.process);
  return processes;
}

void FolderRecord::OnLook(const std::vector<SeenFile>& changed) {
  std::set<std::string> trials = std::move(ended_);
  for (const auto& [trial, running] : running_) trials.insert(trial);
  for (const SeenFile& seen : changed) {
    const auto [entry, is_new] = files_.try_emplace(seen.name);
    File& file = entry->second;
    const bool is_change = !trials.empty() && (is_new || !seen.has_only_grown);
    if (is_change && file.writers.empty() && !file.is_shared) {
      file.writers = trials;
      file.sweeps = SweepsOf(trials);
    } else if (is_change) {
      KeepCommon(file.writers, trials);
      KeepCommon(file.sweeps, SweepsOf(trials));
      file.is_shared = file.is_shared || file.writers.empty();
    }
    file.inode = seen.inode;
    file.bytes = seen.bytes;
    file.modified_ns = seen.modified_ns;
    file.tail = seen.tail;
  }
  ended_.clear();
}

void FolderRecord::OnBegin(const FolderMember& member) {
  sweeps_.insert(member.sweep);
  has_run_side_by_side_ = has_run_side_by_side_ || !running_.empty();
  Running own{member, std::nullopt};
  for (auto& [trial, other] : running_) {
    if (trial == member.trial) continue;  // Another rank, or an attempt whose end was not seen.
    for (const std::string& file : member.metric_files) {
      const std::vector<std::string>& files = other.member.metric_files;
      if (std::find(files.begin(), files.end(), file) == files.end()) continue;
      own.rival = Rival{file, other.member.sweep};
      other.rival = Rival{file, member.sweep};
    }
  }
  running_[member.trial] = std::move(own);
}

void FolderRecord::OnEnd(const std::string& trial) {
  if (running_.erase(trial) > 0) ended_.insert(trial);
}

void FolderRecord::OnGone(int64_t process) {
  for (auto it = running_.begin(); it != running_.end();) {
    const bool is_gone = it->second.member.process == process;
    if (is_gone) ended_.insert(it->first);
    it = is_gone ? running_.erase(it) : std::next(it);
  }
}

std::vector<std::string> FolderRecord::TakeShared(const std::string& sweep) {
  std::vector<std::string> names;
  if (!has_run_side_by_side_) return names;
  for (auto& [name, file] : files_) {
    const bool may_be_its = file.sweeps.empty() || file.sweeps.contains(sweep);
    if (file.is_shared && may_be_its && file.told.insert(sweep).second) names.push_back(name);
  }
  return names;
}

std::optional<FolderRecord::Rival> FolderRecord::RivalOf(const std::string& trial) const {
  const auto found = running_.find(trial);
  return found == running_.end() ? std::nullopt : found->second.rival;
}

std::string FolderRecord::OnMetricFile(const std::string& file, const MetricFile& read) {
  MetricFile& last = metric_files_[file];
  const bool is_alike =
      last.content == read.content && last.trial != read.trial && last.config != read.config;
  // The first one that had it stays: it may be the one that wrote it.
  const std::string trial = is_alike ? last.trial : "";
  if (!is_alike) last = read;
  return trial;
}

std::string FolderRecord::Encode() const {
  Value running = Value::MakeList();
  for (const auto& [trial, one] : running_) {
    Value entry = Value::MakeMap();
    entry.Set("trial", Value(trial));
    entry.Set("sweep", Value(one.member.sweep));
    entry.Set("process", Value(one.member.process));
    entry.Set("metric_files", ListOf(one.member.metric_files));
    entry.Set("rival_file", Value(one.rival ? one.rival->file : ""));
    entry.Set("rival_sweep", Value(one.rival ? one.rival->sweep : ""));
    running.AsList().push_back(std::move(entry));
  }
  Value files = Value::MakeList();
  for (const auto& [name, file] : files_) {
    Value entry = Value::MakeMap();
    entry.Set("name", Value(name));
    entry.Set("inode", Value(static_cast<int64_t>(file.inode)));
    entry.Set("bytes", Value(file.bytes));
    entry.Set("modified_ns", Value(file.modified_ns));
    entry.Set("tail", Value(file.tail));
    entry.Set("writers", ListOf(file.writers));
    entry.Set("sweeps", ListOf(file.sweeps));
    entry.Set("is_shared", Value(file.is_shared));
    entry.Set("told", ListOf(file.told));
    files.AsList().push_back(std::move(entry));
  }
  Value metric_files = Value::MakeList();
  for (const auto& [name, file] : metric_files_) {
    Value entry = Value::MakeMap();
    entry.Set("name", Value(name));
    entry.Set("content", Value(file.content));
    entry.Set("trial", Value(file.trial));
    entry.Set("config", Value(file.config));
    metric_files.AsList().push_back(std::move(entry));
  }
  Value record = Value::MakeMap();
  record.Set("begun_ns", Value(begun_ns_));
  record.Set("next_look_ns", Value(next_look_ns_));
  record.Set("has_given_up", Value(has_given_up_));
  record.Set("has_run_side_by_side", Value(has_run_side_by_side_));
  record.Set("sweeps", ListOf(sweeps_));
  record.Set("running", std::move(running));
  record.Set("ended", ListOf(ended_));
  record.Set("files", std::move(files));
  record.Set("metric_files", std::move(metric_files));
  return ToJson(record);
}

Result<FolderRecord> FolderRecord::Parse(const std::string& text) {
  TUNE_ASSIGN_OR_RETURN(const Value value, ParseJson(text));
  Reader reader{value};
  FolderRecord record(reader.Int("begun_ns"));
  record.next_look_ns_ = reader.Int("next_look_ns");
  record.has_given_up_ = reader.Bool("has_given_up");
  // A record of an earlier version may lie in a folder whose inode is used again.
  const Value* const beside = value.is_map() ? value.Find("has_run_side_by_side") : nullptr;
  record.has_run_side_by_side_ = beside != nullptr && beside->is_bool() && beside->AsBool();
  record.sweeps_ = SetOf(reader.Texts("sweeps"));
  record.ended_ = SetOf(reader.Texts("ended"));
  const Value none = Value::MakeList();
  const auto list = [&](std::string_view key) -> const Value::List& {
    const Value* const found = reader.Take(key, &Value::is_list);
    return found == nullptr ? none.AsList() : found->AsList();
  };
  bool is_whole = true;
  for (const Value& entry : list("running")) {
    Reader one{entry};
    Running running;
    running.member = {one.Text("trial"), one.Text("sweep"), one.Int("process"),
                      one.Texts("metric_files")};
    Rival rival{one.Text("rival_file"), one.Text("rival_sweep")};
    if (!rival.file.empty()) running.rival = std::move(rival);
    is_whole = is_whole && one.is_whole;
    record.running_[running.member.trial] = running;
  }
  for (const Value& entry : list("files")) {
    Reader one{entry};
    File file{static_cast<uint64_t>(one.Int("inode")),
              one.Int("bytes"),
              one.Int("modified_ns"),
              one.Text("tail"),
              SetOf(one.Texts("writers")),
              SetOf(one.Texts("sweeps")),
              one.Bool("is_shared"),
              SetOf(one.Texts("told"))};
    record.files_[one.Text("name")] = std::move(file);
    is_whole = is_whole && one.is_whole;
  }
  for (const Value& entry : list("metric_files")) {
    Reader one{entry};
    record.metric_files_[one.Text("name")] = {one.Text("content"), one.Text("trial"),
                                              one.Text("config")};
    is_whole = is_whole && one.is_whole;
  }
  if (!reader.is_whole || !is_whole) return InvalidArgument("another version wrote this record");
  return record;
}

}  // namespace tune
