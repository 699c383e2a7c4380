// Which sweeps a database has: the list of them, one by its name, the latest.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/sqlite/schema.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

// Ids of sweeps, from the first to the last.
struct IdRange {
  int64_t first = std::numeric_limits<int64_t>::min();
  int64_t last = std::numeric_limits<int64_t>::max();
};

std::string TrainableKind(const Value& spec) {
  const Value* const trainable = spec.is_map() ? spec.Find("trainable") : nullptr;
  if (trainable == nullptr) return std::string();
  if (trainable->is_string()) return trainable->AsString();
  if (trainable->is_map() && !trainable->AsMap().empty()) return trainable->AsMap().front().key;
  return std::string();
}

int64_t RepeatOf(const Value& spec) {
  const Value* const search = spec.is_map() ? spec.Find("search") : nullptr;
  const Value* const repeat =
      search != nullptr && search->is_map() ? search->Find("repeat") : nullptr;
  return repeat != nullptr && repeat->is_int() ? std::max<int64_t>(1, repeat->AsInt()) : 1;
}

// The lists of a sweep of several; their first items are there already.
void ReadMoreObjectives(const Value& spec, std::vector<Objective>& objectives) {
  const Value* const metrics = spec.Find("metric");
  const Value* const modes = spec.Find("mode");
  if (metrics == nullptr || !metrics->is_list() || modes == nullptr || !modes->is_list()) return;
  const size_t count = std::min(metrics->AsList().size(), modes->AsList().size());
  for (size_t i = 1; i < count; ++i) {
    objectives.push_back({metrics->AsList()[i].AsString(),
                          modes->AsList()[i] == Value("min") ? Mode::kMin : Mode::kMax});
  }
}

// What a stored document says: it has been checked when its sweep began.
std::vector<std::string> LimitsOf(const Value& spec) {
  const Value* const texts = spec.is_map() ? spec.Find("feasible") : nullptr;
  std::vector<std::string> limits;
  if (texts == nullptr) return limits;
  for (const Value& text : texts->is_list() ? texts->AsList() : Value::List{*texts}) {
    if (text.is_string()) limits.push_back(text.AsString());
  }
  return limits;
}

// Calls `take` for each row of `sql`, which begins with a sweep's id and comes in their order, with
// its sweep. Nothing where the database has no such columns: no newer tune has written to it since
// version `since` of the schema.
template <typename Take>
Status TakeRows(Database& database, const char* sql, int64_t since, const IdRange& ids,
                std::vector<FoundSweep>& sweeps, const Take& take) {
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version < since) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(sql));
  row->BindAll(ids.first, ids.last);
  auto sweep = sweeps.begin();
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return OkStatus();
    while (sweep != sweeps.end() && sweep->id < row->Int(0)) ++sweep;
    if (sweep != sweeps.end() && sweep->id == row->Int(0)) take(*row, *sweep);
  }
}

Status TakeLabels(Database& database, const IdRange& ids, std::vector<FoundSweep>& sweeps) {
  static constexpr char kLabelsSql[] =
      "SELECT id, note, tags FROM experiment_rows WHERE id BETWEEN ?1 AND ?2"
      " AND (note <> '' OR tags <> '{}') ORDER BY id";
  return TakeRows(database, kLabelsSql, kLabelsSince, ids, sweeps,
                  [](const Statement& row, FoundSweep& sweep) {
                    sweep.labels.note = row.Text(1);
                    Result<Tags> tags = DecodeTags(row.Text(2));
                    // Else somebody has edited the table.
                    if (tags.ok()) sweep.labels.tags = *std::move(tags);
                  });
}

Status TakeEnds(Database& database, const IdRange& ids, std::vector<FoundSweep>& sweeps) {
  static constexpr char kGivenUpSql[] =
      "SELECT id, given_up FROM experiment_rows WHERE id BETWEEN ?1 AND ?2 AND given_up <> ''"
      " ORDER BY id";
  static constexpr char kEndedEarlySql[] =
      "SELECT id, ended_early FROM experiment_rows WHERE id BETWEEN ?1 AND ?2"
      " AND ended_early <> '' ORDER BY id";
  TUNE_RETURN_IF_ERROR(
      TakeRows(database, kGivenUpSql, kGivenUpSince, ids, sweeps,
               [](const Statement& row, FoundSweep& sweep) { sweep.given_up = row.Text(1); }));
  return TakeRows(database, kEndedEarlySql, kEndedEarlySince, ids, sweeps,
                  [](const Statement& row, FoundSweep& sweep) { sweep.ended_early = row.Text(1); });
}

Result<std::vector<FoundSweep>> ReadSweeps(Database& database, const IdRange& ids) {
  static constexpr char kSweepsSql[] =
      "SELECT id, name, metric, mode, status, samples, CAST(CASE WHEN seed >= 0 THEN seed"
      " ELSE printf('%u', seed) END AS TEXT), scheduler, spec, created_us, finished_us,"
      " decision_version"
      " FROM experiment_rows WHERE id BETWEEN ?1 AND ?2 ORDER BY id";
  const std::optional<LockHolder> holder = FindLockHolder(database.path());
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSweepsSql));
  row->BindAll(ids.first, ids.last);
  std::vector<FoundSweep> sweeps;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    FoundSweep& sweep = sweeps.emplace_back();
    sweep.id = row->Int(0);
    sweep.name = row->Text(1);
    sweep.metric = row->Text(2);
    sweep.mode = row->Text(3);
    sweep.status = row->Text(4);
    sweep.samples = row->Int(5);
    sweep.seed = row->Text(6);
    sweep.scheduler = row->Text(7);
    const Result<Value> spec = ParseJson(row->Text(8));
    sweep.objectives = {{sweep.metric, sweep.direction()}};
    if (spec.ok()) {
      sweep.trainable_kind = TrainableKind(*spec);
      sweep.repeat = RepeatOf(*spec);
      const Value* const space = spec->is_map() ? spec->Find("space") : nullptr;
      sweep.has_space = space != nullptr && space->is_map() && !space->AsMap().empty();
      sweep.is_constrained = spec->is_map() && spec->Find("metric_constraints") != nullptr;
      ReadMoreObjectives(*spec, sweep.objectives);
      sweep.limits = LimitsOf(*spec);
    }
    sweep.created_us = row->Int(9);
    sweep.finished_us = row->OptionalInt(10);
    sweep.decision_version = row->Int(11);
    // Whether a tuner lives is told by its lock, never by the row. One that has announced no sweep
    // yet may be any's.
    const bool has_tuner = holder && holder->MayRun(sweep.name);
    // One that is only told of its trials has none.
    if (sweep.status == "RUNNING" && !sweep.is_told() && !has_tuner) sweep.status = "INTERRUPTED";
  }
  TUNE_RETURN_IF_ERROR(TakeLabels(database, ids, sweeps));
  TUNE_RETURN_IF_ERROR(TakeEnds(database, ids, sweeps));
  return sweeps;
}

Result<std::vector<std::string>> ListNames(Database& database) {
  static constexpr char kNamesSql[] = "SELECT name FROM experiment_rows ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kNamesSql));
  std::vector<std::string> names;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return names;
    names.emplace_back(row->Text(0));
  }
}

Result<std::optional<FoundSweep>> ReadOne(Database& database, std::optional<int64_t> id) {
  if (!id) return std::optional<FoundSweep>();
  TUNE_ASSIGN_OR_RETURN(std::vector<FoundSweep> sweeps, ReadSweeps(database, {*id, *id}));
  if (sweeps.empty()) return std::optional<FoundSweep>();  // Deleted since.
  return std::optional(std::move(sweeps.front()));
}

Result<std::optional<FoundSweep>> FindLatest(Database& database) {
  static constexpr char kLatestSql[] = "SELECT max(id) FROM experiment_rows";
  std::optional<int64_t> id;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kLatestSql));
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (has_row) id = row->OptionalInt(0);
  }
  return ReadOne(database, id);
}

}  // namespace

Result<std::vector<FoundSweep>> ListSweeps(Database& database) { return ReadSweeps(database, {}); }

Result<std::optional<FoundSweep>> FindNamed(Database& database, const std::string& name) {
  static constexpr char kIdSql[] = "SELECT id FROM experiment_rows WHERE name = ?1";
  std::optional<int64_t> id;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kIdSql));
    row->BindAll(name);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (has_row) id = row->Int(0);
  }
  return ReadOne(database, id);
}

Status KeepTagged(const std::vector<std::string>& tags, std::vector<FoundSweep>& sweeps) {
  for (const std::string& text : tags) {
    const bool is_key_alone = text.find('=') == std::string::npos;
    TUNE_ASSIGN_OR_RETURN(const auto wanted, ReadTag(text));
    std::erase_if(sweeps, [&](const FoundSweep& sweep) {
      const auto tag = sweep.labels.tags.find(wanted.first);
      return tag == sweep.labels.tags.end() || (!is_key_alone && tag->second != wanted.second);
    });
  }
  return OkStatus();
}

Result<FoundSweep> FindSweep(Database& database, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(std::optional<FoundSweep> found,
                        name.empty() ? FindLatest(database) : FindNamed(database, name));
  if (found) return *std::move(found);
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> stored, ListNames(database));
  if (name.empty() || stored.empty()) {
    return NotFound(database.path() + ": no sweep is in it yet; make one with tune run");
  }
  std::vector<std::string_view> names(stored.begin(), stored.end());
  const std::string unknown = database.path() + ": no sweep is named '" + Printable(name) + "'";
  if (const auto nearest = NearestName(name, names)) {
    return NotFound(unknown + "; did you mean '" + Printable(*nearest) + "'?");
  }
  constexpr size_t kNamesMax = 20;  // The latest ones.
  std::string list;
  const size_t earlier = names.size() - std::min(names.size(), kNamesMax);
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(earlier));
  for (const std::string_view known : names) list += (list.empty() ? "" : ", ") + Printable(known);
  return NotFound(unknown + "; it has " + list +
                  (earlier > 0 ? ", and " + std::to_string(earlier) + " earlier ones" : ""));
}

}  // namespace tune
