#include "tuner/simulate/curve_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "tuner/simulate/csv_reader.h"
#include "tuner/simulate/recorded_configuration.h"

namespace tune {
namespace {

constexpr std::string_view kIterationNames[] = {"training_iteration", "iteration"};
constexpr std::string_view kSecondsName = "seconds";
constexpr std::string_view kTrialName = "trial";

// What stands in which column.
struct Columns {
  size_t count = 0;
  std::vector<std::pair<size_t, const SpaceParameter*>> parameters;
  std::vector<size_t> metrics;  // As in the curves' names of metrics.
  std::optional<size_t> iteration;
  std::optional<size_t> seconds;
  std::optional<size_t> trial;
};

class TableReader {
 public:
  TableReader(std::istream& in, const SearchSpace& space) : csv_(in), space_(space) {}

  Result<RecordedCurves> Read(const std::vector<std::string>& needed);

 private:
  Status ReadHeader(const std::vector<std::string>& needed);
  Status CheckColumns(const std::vector<CsvCell>& header, const std::vector<std::string>& needed);
  Status ReadLine();
  Result<size_t> FindCurve();
  Result<Configuration> ReadConfiguration() const;
  Status ReadReport(RecordedCurve& curve);
  // Whether the cells that say which curve a line is of are those of the line before.
  bool IsAsBefore() const;

  CsvReader csv_;
  const SearchSpace& space_;
  Columns columns_;
  RecordedCurves curves_;
  std::vector<CsvCell> cells_;
  int64_t point_count_ = 0;
  std::map<std::string, size_t> index_;  // Of a curve, by trial or configuration.
  std::vector<CsvCell> before_;          // The line before, of the curve `latest_`.
  size_t latest_ = 0;
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <typename T>
std::optional<T> ParseNumber(const std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

Status Expected(const CsvCell& cell, std::string_view column, const std::string& what) {
  return InvalidAt(
      cell.place, std::string(column) + ": read " + Shown(Value(cell.text)) + ", expected " + what);
}

std::optional<double> ParseFinite(const std::string& text) {
  const auto number = ParseNumber<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// A cell as a value of the space: what JSON makes of it, else its text.
Result<Value> ReadParameter(const CsvCell& cell, const SpaceParameter& parameter) {
  const Result<Value> json = ParseJson(cell.text);
  const Result<Value> as_json = AsDrawn(parameter, json.ok() ? *json : Value(cell.text));
  if (as_json.ok() || !json.ok()) return as_json;
  const Result<Value> as_text = AsDrawn(parameter, Value(cell.text));
  return as_text.ok() ? as_text : as_json;
}

Result<RecordedCurves> TableReader::Read(const std::vector<std::string>& needed) {
  TUNE_RETURN_IF_ERROR(ReadHeader(needed));
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_line, csv_.Next(cells_));
    if (!has_line) break;
    TUNE_RETURN_IF_ERROR(ReadLine());
  }
  if (curves_.curves.empty()) {
    return InvalidArgument("there is no line below the columns' names; expected a line a report");
  }
  return std::move(curves_);
}

Status TableReader::ReadHeader(const std::vector<std::string>& needed) {
  std::vector<CsvCell> header;
  TUNE_ASSIGN_OR_RETURN(const bool has_header, csv_.Next(header));
  if (!has_header) return InvalidArgument("is empty; expected a line of the columns' names");
  columns_.count = header.size();
  const auto& parameters = space_.parameters();
  for (size_t i = 0; i < header.size(); ++i) {
    const std::string name = header[i].text = Trimmed(header[i].text);
    const auto is_it = [&](const CsvCell& other) { return other.text == name; };
    if (name.empty()) return InvalidAt(header[i].place, "a column without a name");
    if (std::any_of(header.begin(), header.begin() + static_cast<ptrdiff_t>(i), is_it)) {
      return InvalidAt(header[i].place, "a second column '" + name + "'");
    }
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&](const SpaceParameter& p) { return p.name == name; });
    if (parameter != parameters.end()) {
      columns_.parameters.emplace_back(i, &*parameter);
    } else if (std::find(std::begin(kIterationNames), std::end(kIterationNames), name) !=
               std::end(kIterationNames)) {
      if (columns_.iteration) return InvalidAt(header[i].place, "a second column of iterations");
      columns_.iteration = i;
    } else if (name == kSecondsName) {
      columns_.seconds = i;
    } else if (name == kTrialName) {
      columns_.trial = i;
    } else {
      columns_.metrics.push_back(i);
      curves_.metrics.push_back(name);
    }
  }
  return CheckColumns(header, needed);
}

Status TableReader::CheckColumns(const std::vector<CsvCell>& header,
                                 const std::vector<std::string>& needed) {
  std::vector<std::string_view> names;
  for (const CsvCell& cell : header) names.push_back(cell.text);
  const auto missing = [&](std::string_view name, const std::string& what) {
    return InvalidAt(header[0].place, "there is no column '" + std::string(name) + "', " + what +
                                          DidYouMean(name, names));
  };
  for (const SpaceParameter& parameter : space_.parameters()) {
    const bool is_there =
        std::any_of(columns_.parameters.begin(), columns_.parameters.end(),
                    [&](const auto& column) { return column.second == &parameter; });
    if (is_there || std::holds_alternative<Value>(parameter.content)) continue;
    return missing(parameter.name, "a parameter of the space");
  }
  if (!columns_.iteration) return missing(kIterationNames[0], "the iteration of each report");
  for (const std::string& metric : needed) {
    const auto found = std::find(curves_.metrics.begin(), curves_.metrics.end(), metric);
    if (found == curves_.metrics.end()) return missing(metric, "a metric that the sweep needs");
  }
  return OkStatus();
}

Status TableReader::ReadLine() {
  if (cells_.size() != columns_.count) {
    return InvalidAt(cells_.back().place, "a line of " + std::to_string(cells_.size()) +
                                              " cells, expected " + std::to_string(columns_.count) +
                                              " as there are columns");
  }
  if (++point_count_ > limits::kCurvePointsMax) {
    return InvalidAt(cells_[0].place,
                     "more than " + std::to_string(limits::kCurvePointsMax) + " reports");
  }
  if (!IsAsBefore()) {
    TUNE_ASSIGN_OR_RETURN(latest_, FindCurve());
    before_ = cells_;
  }
  return ReadReport(curves_.curves[latest_]);
}

bool TableReader::IsAsBefore() const {
  if (before_.empty()) return false;
  const auto is_same = [this](size_t i) { return cells_[i].text == before_[i].text; };
  return (!columns_.trial || is_same(*columns_.trial)) &&
         std::all_of(columns_.parameters.begin(), columns_.parameters.end(),
                     [&](const auto& column) { return is_same(column.first); });
}

Result<size_t> TableReader::FindCurve() {
  TUNE_ASSIGN_OR_RETURN(Configuration configuration, ReadConfiguration());
  const std::string key =
      columns_.trial ? cells_[*columns_.trial].text : ToJson(configuration.ToFlat());
  const auto [found, is_new] = index_.emplace(key, curves_.curves.size());
  if (is_new) {
    if (static_cast<int64_t>(curves_.curves.size()) == limits::kCurvesMax) {
      return InvalidAt(cells_[0].place,
                       "more than " + std::to_string(limits::kCurvesMax) + " curves");
    }
    curves_.curves.push_back({std::move(configuration), {}, {}, {}, {}});
  } else if (!(curves_.curves[found->second].configuration == configuration)) {
    return Expected(cells_[*columns_.trial], kTrialName,
                    "another trial: this one had another configuration before");
  }
  return found->second;
}

Result<Configuration> TableReader::ReadConfiguration() const {
  Configuration recorded;
  for (const auto& [column, parameter] : columns_.parameters) {
    const CsvCell& cell = cells_[column];
    if (cell.text.empty()) continue;
    const Result<Value> value = ReadParameter(cell, *parameter);
    if (!value.ok()) return InvalidAt(cell.place, value.status().message());
    recorded.Set(parameter->name, *value);
  }
  const Result<Configuration> configuration = InSpace(space_, recorded);
  if (!configuration.ok()) return InvalidAt(cells_[0].place, configuration.status().message());
  return configuration;
}

Status TableReader::ReadReport(RecordedCurve& curve) {
  const CsvCell& iteration_cell = cells_[*columns_.iteration];
  const auto iteration = ParseNumber<int64_t>(Trimmed(iteration_cell.text));
  if (!iteration || *iteration < 1) {
    return Expected(iteration_cell, kIterationNames[0], "an integer from 1");
  }
  if (!curve.iterations.empty() && *iteration <= curve.iterations.back()) {
    return Expected(iteration_cell, kIterationNames[0],
                    "more than " + std::to_string(curve.iterations.back()) +
                        ", the iteration before of this " +
                        (columns_.trial ? "trial"
                                        : "configuration (a column `trial` tells several curves "
                                          "of one configuration apart)"));
  }
  double seconds = 1;
  if (columns_.seconds) {
    const CsvCell& cell = cells_[*columns_.seconds];
    const auto read = ParseFinite(Trimmed(cell.text));
    if (!read || *read < 0) return Expected(cell, kSecondsName, "a number from 0");
    seconds = *read;
  }
  curve.iterations.push_back(*iteration);
  curve.seconds.push_back(seconds);
  for (size_t m = 0; m < columns_.metrics.size(); ++m) {
    const CsvCell& cell = cells_[columns_.metrics[m]];
    const std::string text = Trimmed(cell.text);
    const bool is_none = text.empty() || text == "nan" || text == "NaN";
    const auto value = is_none ? std::numeric_limits<double>::quiet_NaN() : ParseFinite(text);
    if (!value) {
      return Expected(cell, curves_.metrics[m],
                      "a finite number, nan or nothing (a column that is none of the space's "
                      "parameters is a metric)");
    }
    curve.values.push_back(*value);
    curve.was_reported.push_back(!text.empty());
  }
  return OkStatus();
}

}  // namespace

Result<RecordedCurves> ReadCurveTable(std::istream& in, std::string_view file,
                                      const SearchSpace& space,
                                      const std::vector<std::string>& needed) {
  Result<RecordedCurves> curves = TableReader(in, space).Read(needed);
  if (!curves.ok()) return InFile(file, curves.status());
  return curves;
}

}  // namespace tune
