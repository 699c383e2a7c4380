#include "tuner/cli/head/head_retention.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "tuner/sqlite/database.h"
#include "tuner/sweep_labels.h"

namespace tune {
namespace {

// The names that unfinished sweeps learn from.
Result<std::set<std::string>> FindTaught(Database& database) {
  static constexpr char kSql[] =
      "SELECT DISTINCT coalesce(json_extract(spec, '$.from.sweep'),"
      " json_extract(spec, '$.from.prior'), json_extract(spec, '$.from'))"
      " FROM experiment_rows WHERE status IN ('RUNNING', 'INTERRUPTED') AND 'text' IN"
      " (json_type(spec, '$.from.sweep'), json_type(spec, '$.from.prior'), json_type(spec, "
      "'$.from'))";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  std::set<std::string> names;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return names;
    names.emplace(row->Text(0));
  }
}

}  // namespace

std::vector<EndedSweep> Expired(std::vector<EndedSweep> ended, const RetentionRule& rule,
                                Instant now) {
  std::sort(ended.begin(), ended.end(), [](const EndedSweep& a, const EndedSweep& b) {
    return std::tie(a.ended_at, a.name) < std::tie(b.ended_at, b.name);
  });
  int64_t bytes = 0;
  for (const EndedSweep& sweep : ended) bytes += sweep.bytes;
  auto first_kept = ended.begin();
  for (; first_kept != ended.end(); ++first_kept) {
    const bool is_old = rule.age && first_kept->ended_at + *rule.age <= now;
    // One that left nothing makes no room by going.
    const bool is_too_much = rule.bytes && bytes > *rule.bytes;
    if (!is_old && !is_too_much) break;
    bytes -= first_kept->bytes;
  }
  ended.erase(first_kept, ended.end());
  if (!rule.age) std::erase_if(ended, [](const EndedSweep& sweep) { return sweep.bytes == 0; });
  return ended;
}

Result<std::vector<EndedSweep>> FindEnded(const std::string& db_path) {
  static constexpr char kSql[] =
      "SELECT name, finished_us, tags FROM experiment_rows"
      " WHERE (status IN ('FINISHED', 'STOPPED') OR given_up <> '') AND finished_us IS NOT NULL";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        Database::Open(db_path, Access::kRead));
  TUNE_ASSIGN_OR_RETURN(const std::set<std::string> taught, FindTaught(*database));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kSql));
  std::vector<EndedSweep> ended;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    TUNE_ASSIGN_OR_RETURN(const Tags tags, DecodeTags(row->Text(2)));
    EndedSweep sweep{std::string(row->Text(0)), Instant{row->Int(1)}};
    if (tags.contains(kKeepTag) || taught.contains(sweep.name)) continue;
    ended.push_back(std::move(sweep));
  }
  return ended;
}

Duration ClockTrustedAfter(const RetentionRule& rule) {
  constexpr Duration kMost = Seconds(3600);  // By then NTP has set it.
  return rule.age ? std::min(*rule.age, kMost) : Duration{};
}

Duration LookEvery(const RetentionRule& rule) {
  constexpr Duration kLeast = Seconds(1), kMost = Seconds(600);
  const Duration wanted = rule.age ? Duration{rule.age->us / 20} : kMost;
  return std::clamp(wanted, kLeast, kMost);
}

}  // namespace tune
