#include "tuner/cli/lane_speeds.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/configuration.h"
#include "core/json.h"
#include "trial_runner/fusion.h"
#include "tuner/cli/sweep_lookup.h"

namespace tune {
namespace {

// The latest ones, by shape and lanes.
using Samples = std::map<std::string, std::map<int64_t, std::vector<double>>>;

Status ReadSamples(Database& database, Samples& samples) {
  static constexpr char kSpeedsSql[] =
      "SELECT c.flat, json_extract(r.metrics, '$.lanes'),"
      " json_extract(r.metrics, '$.images_per_second') FROM report_rows AS r"
      " JOIN trial_rows AS t ON t.id = r.trial JOIN configuration_rows AS c ON c.trial = t.id"
      " JOIN experiment_rows AS e ON e.id = t.experiment"
      " WHERE json_extract(e.spec, '$.trainable') = 'food11'"
      " ORDER BY r.reported_us DESC, r.trial, r.iteration LIMIT 20000";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSpeedsSql));
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    // Reports of before there were lanes do not say how many.
    const int64_t lanes = row->IsNull(1) ? 1 : static_cast<int64_t>(row->Real(1));
    if (row->IsNull(2) || lanes < 1 || !(row->Real(2) > 0)) continue;
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(0)));
    TUNE_ASSIGN_OR_RETURN(const Configuration configuration, Configuration::FromFlat(flat));
    const Fusion fusion = FusionOf(Value("food11"), configuration.ToNested(), /*gpu_milli=*/0);
    samples[fusion.shape][lanes].push_back(static_cast<double>(lanes) * row->Real(2));
  }
  return OkStatus();
}

}  // namespace

Result<std::map<std::string, std::vector<LaneSpeed>>> ReadLaneSpeeds(const std::string& db_path) {
  std::map<std::string, std::vector<LaneSpeed>> speeds;
  std::error_code none;
  if (!std::filesystem::exists(db_path, none)) return speeds;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  Samples samples;
  TUNE_RETURN_IF_ERROR(ReadSamples(*database, samples));
  for (auto& [shape, by_lanes] : samples) {
    for (auto& [lanes, values] : by_lanes) {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::nth_element(values.begin(), middle, values.end());
      speeds[shape].push_back({lanes, *middle, static_cast<int64_t>(values.size())});
    }
  }
  return speeds;
}

}  // namespace tune
