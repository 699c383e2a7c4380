#include "tuner/cli/head/cluster_changes.h"

#include <utility>

#include "core/utf8.h"
#include "tuner/cli/head/cluster_lines.h"
#include "tuner/cli/words/text_table.h"

namespace tune {

const Value& MemberOf(const Value& map, const char* key) {
  static const Value nothing;
  const Value* const found = map.is_map() ? map.Find(key) : nullptr;
  return found == nullptr ? nothing : *found;
}

std::string TextMemberOf(const Value& map, const char* key) {
  const Value& value = MemberOf(map, key);
  return value.is_string() ? value.AsString() : "";
}

void ClusterChanges::Show(const Value& state) {
  std::map<std::string, std::string> now;
  const auto gather = [&now](const Value& list, const char* state_key, const char* why_key) {
    if (!list.is_list()) return;
    for (const Value& one : list.AsList()) {
      const std::string word = state_key == nullptr ? "failed" : TextMemberOf(one, state_key);
      const std::string why = TextMemberOf(one, why_key);
      now[TextMemberOf(one, "worker")] = word + (why.empty() ? "" : ": " + why);
    }
  };
  gather(MemberOf(state, "failed"), nullptr, "why");
  gather(MemberOf(state, "workers"), "state", "reason");
  if (const Value& pools = MemberOf(state, "pools"); pools.is_list()) {
    for (const Value& pool : pools.AsList()) {
      // How long it rests changes with each look.
      const std::string why = TextMemberOf(pool, "why");
      const size_t colon = why.starts_with("rests") ? why.find(": ") : std::string::npos;
      if (why.empty()) continue;
      now["pool " + TextMemberOf(pool, "pool")] =
          colon == std::string::npos ? why : "rests after " + why.substr(colon + 2);
    }
  }
  for (const auto& [name, text] : now) {
    if (shown_[name] != text) err_ << PrintableLines(name + "  " + text) << std::endl;
  }
  for (const auto& [name, text] : shown_) {
    if (!now.contains(name) && !name.starts_with("pool ")) {
      err_ << PrintableLines(name + "  is gone") << std::endl;
    }
  }
  shown_ = std::move(now);
}

void TellWhatIsLeft(const Value& state, size_t width, std::ostream& err) {
  PrintCluster(state, width, err);
  if (const Value& failed = MemberOf(state, "failed");
      failed.is_list() && !failed.AsList().empty()) {
    const Value& last = failed.AsList().back();
    if (const Value& log = MemberOf(last, "log"); log.is_list() && !log.AsList().empty()) {
      err << "\nthe last lines of " << TextMemberOf(last, "worker") << ":\n";
      for (const Value& line : log.AsList()) err << "  " << ShortText(line) << "\n";
    }
  }
  err << std::flush;
}

bool TellUnreached(const Value& state, std::ostream& err) {
  const Value& unreached = MemberOf(state, "unreached");
  if (!unreached.is_list() || unreached.AsList().empty()) return false;
  for (const Value& one : unreached.AsList()) {
    err << "not reached: " << PrintableLines(one.is_string() ? one.AsString() : "") << "\n";
  }
  err << "tune: the head is ended, and so is all that is reached; a worker on a host that is not "
         "reached ends by itself within a minute; tune cluster down looks there again"
      << std::endl;
  return true;
}

}  // namespace tune
