#include "tuner/cli/look/lane_speeds.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "tuner/cli/look/sweep_lookup.h"

namespace tune {
namespace {

Result<bool> HasLaneSpeeds(Database& database) {
  TUNE_ASSIGN_OR_RETURN(const int64_t tables,
                        database.QueryInt("SELECT count(*) FROM sqlite_master"
                                          " WHERE type = 'view' AND name = 'lane_speeds'"));
  return tables > 0;
}

Result<std::vector<LaneSpeedRow>> ReadRows(Statement& row) {
  std::vector<LaneSpeedRow> rows;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) break;
    rows.push_back({{std::string(row.Text(0)), std::string(row.Text(1))},
                    {row.Int(2), row.Real(3), row.Int(4)}});
  }
  return rows;
}

}  // namespace

Result<std::vector<LaneSpeedRow>> ReadLaneSpeeds(const std::string& db_path) {
  // SQLite takes bare columns from the row that has the max().
  static constexpr char kLatestSql[] =
      "SELECT shape, device, lanes, images_per_second, reports, max(experiment) FROM lane_speeds"
      " GROUP BY shape, device, lanes ORDER BY shape, device, lanes";
  std::error_code none;
  if (!std::filesystem::exists(db_path, none)) return std::vector<LaneSpeedRow>();
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  TUNE_ASSIGN_OR_RETURN(const bool has_speeds, HasLaneSpeeds(*database));
  if (!has_speeds) return std::vector<LaneSpeedRow>();
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kLatestSql));
  return ReadRows(*row);
}

Result<std::vector<KindLimit>> ReadLaneLimits(Database& database, int64_t experiment) {
  static constexpr char kOfSweepSql[] =
      "SELECT s.shape, s.device, s.lanes, s.images_per_second, s.reports FROM lane_speeds AS s"
      " JOIN experiments AS e ON e.id = s.experiment"
      " WHERE e.id = ?1 AND json_extract(e.spec, '$.space.lanes') IS NULL AND s.device <> ''"
      " ORDER BY s.shape, s.device, s.lanes";
  std::vector<KindLimit> limits;
  TUNE_ASSIGN_OR_RETURN(const bool has_speeds, HasLaneSpeeds(database));
  if (!has_speeds) return limits;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kOfSweepSql));
  row->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const std::vector<LaneSpeedRow> rows, ReadRows(*row));
  std::map<LaneKind, std::vector<LaneSpeed>> by_kind;
  for (const LaneSpeedRow& speed : rows) by_kind[speed.kind].push_back(speed.speed);
  for (const auto& [kind, speeds] : by_kind) {
    const std::optional<LaneLimit> limit = LaneLimitOf(speeds);
    if (limit) limits.push_back({kind, *limit});
  }
  return limits;
}

std::string Describe(const KindLimit& limit) {
  const int64_t lanes = limit.limit.kept.lanes;
  return std::to_string(lanes) + (lanes == 1 ? " trains alone on " : " train as one on ") +
         limit.kind.device + ": " + Describe(limit.limit);
}

}  // namespace tune
