#include "tuner/cli/look/stored_doubts.h"

#include <ostream>

#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

Result<bool> HasNotes(Database& database) {
  TUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      database.QueryInt("SELECT count() FROM sqlite_master WHERE type = 'table' AND name = "
                        "'note_rows'"));
  return count > 0;
}

}  // namespace

Result<std::vector<Doubt>> ReadDoubts(Database& database, int64_t experiment) {
  // SQLite takes a bare column from the row that has the min().
  static constexpr char kDoubtsSql[] =
      "SELECT n.text, count(), min(n.id) FROM note_rows AS n JOIN trial_rows AS t ON t.id = n.trial"
      " WHERE t.experiment = ?1 GROUP BY n.kind ORDER BY min(n.id)";
  std::vector<Doubt> doubts;
  TUNE_ASSIGN_OR_RETURN(const bool has_notes, HasNotes(database));
  if (!has_notes) return doubts;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kDoubtsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    doubts.push_back({std::string(row->Text(0)), row->Int(1)});
  }
  return doubts;
}

Result<std::vector<std::string>> ReadNotes(Database& database, int64_t trial) {
  static constexpr char kNotesSql[] = "SELECT text FROM note_rows WHERE trial = ?1 ORDER BY id";
  std::vector<std::string> notes;
  TUNE_ASSIGN_OR_RETURN(const bool has_notes, HasNotes(database));
  if (!has_notes) return notes;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kNotesSql));
  row->BindAll(trial);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    notes.emplace_back(row->Text(0));
  }
  return notes;
}

Status PrintDoubts(Database& database, int64_t experiment, std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<Doubt> doubts, ReadDoubts(database, experiment));
  for (const Doubt& doubt : doubts) err << "in doubt: " << Printable(Describe(doubt)) << "\n";
  return OkStatus();
}

}  // namespace tune
