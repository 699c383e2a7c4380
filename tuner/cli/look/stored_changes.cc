#include "tuner/cli/look/stored_changes.h"

#include "core/posix/user_name.h"
#include "core/utf8.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

// Of the page's own key, which has no name, that is said.
std::string DescribeWho(std::string_view by, std::string_view role) {
  if (by.empty()) return "by the page's own key";
  return "by " + Printable(by) + (role.empty() ? "" : " (" + std::string(role) + ")");
}

}  // namespace

StoredChange ChangeOf(const ControlRequest& request, Instant now) {
  StoredChange change;
  const bool is_of_sweep = ChangesSweep(request.verb) && request.verb != ControlVerb::kDrain;
  if (is_of_sweep) change.sweep = request.sweep;
  change.outlives = request.verb == ControlVerb::kDelete;
  change.at = now;
  change.change = DescribeChange(request);
  change.by = request.by ? request.by->name : UserName();
  if (request.by) change.role = request.by->is_admin ? "admin" : "user";
  return change;
}

Result<std::vector<std::string>> DescribeChanges(Database& database, const FoundSweep& sweep,
                                                 int64_t count) {
  static constexpr char kChangesSql[] =
      "SELECT changed_at, change, \"by\", role FROM changes WHERE experiment = ?1"
      " ORDER BY id DESC LIMIT ?2";
  static constexpr char kSubmittedSql[] =
      "SELECT coalesce(json_extract(provenance, '$.by'), '') FROM experiments WHERE id = ?1";
  std::vector<std::string> lines;
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version < kChangesSince) return lines;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement change, database.Kept(kChangesSql));
  change->BindAll(sweep.id, count + 1);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, change->Step());
    if (!has_row) break;
    if (static_cast<int64_t>(lines.size()) == count) {
      lines.push_back("and earlier ones, in the view changes");
      break;
    }
    lines.push_back(std::string(change->Text(0)) + " " + Printable(change->Text(1)) + ", " +
                    DescribeWho(change->Text(2), change->Text(3)));
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement submitted, database.Kept(kSubmittedSql));
  submitted->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, submitted->Step());
  const std::string by = has_row ? std::string(submitted->Text(0)) : "";
  if (!by.empty()) lines.push_back("submitted " + DescribeWho(by, ""));
  return lines;
}

Result<std::optional<bool>> IsStopAskedFor(Database& database, int64_t sweep) {
  static constexpr char kStopSql[] =
      "SELECT 1 FROM changes WHERE experiment = ?1 AND (change = 'stop' OR change LIKE 'stop %')"
      " LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version < kChangesSince) return std::optional<bool>();
  TUNE_ASSIGN_OR_RETURN(const KeptStatement stop, database.Kept(kStopSql));
  stop->BindAll(sweep);
  TUNE_ASSIGN_OR_RETURN(const bool is_asked, stop->Step());
  return std::optional(is_asked);
}

}  // namespace tune
