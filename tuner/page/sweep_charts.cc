#include "tuner/page/sweep_charts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/stored_importance.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/page/charts.h"
#include "tuner/page/sweep_course.h"
#include "tuner/search_problem.h"

namespace tune {

const char kChartNames[] = "curves|best|parallel|importance|slice|front";

namespace {

constexpr int kRanks = 5;  // Trials that are told apart.

std::string MetricLabel(const std::string& metric, Mode mode) {
  return metric + (mode == Mode::kMax ? ", more is better" : ", less is better");
}

Status NothingYet(Database& database, const FoundSweep& sweep) {
  return FailedPrecondition(NoBestIn(database, sweep));
}

// Without those that are so far above all smaller ones, where these are the more. As
// web/src/values.ts has it.
std::vector<double> WithoutFarOnes(std::vector<double> values) {
  constexpr double kFar = 1e6;
  const auto is_smaller = [](double a, double b) { return std::abs(a) < std::abs(b); };
  std::sort(values.begin(), values.end(), is_smaller);
  for (size_t i = std::max<size_t>(1, (values.size() + 1) / 2); i < values.size(); ++i) {
    if (std::abs(values[i]) < kFar * std::max(1.0, std::abs(values[i - 1]))) continue;
    values.resize(i);
    break;
  }
  return values;
}

// An axis for values of which a few may lie far off: a loss that went to 1e12 would leave a line at
// the bottom of the others. A note tells of those beyond it.
Axis ValueAxis(const std::string& label, std::vector<double> values,
               std::vector<std::string>& notes) {
  std::vector<double> near = WithoutFarOnes(values);
  std::sort(values.begin(), values.end());
  std::sort(near.begin(), near.end());
  constexpr double kFarOff = 5;
  const size_t edge = near.size() / 10;
  double low = near.front();
  double high = near.back();
  const double middle_low = near[edge];
  const double middle_high = near[near.size() - 1 - edge];
  const double span = AreAlike(middle_low, middle_high) ? 0 : middle_high - middle_low;
  if (span > 0 && high - middle_high > kFarOff * span) high = middle_high + span / 4;
  if (span > 0 && middle_low - low > kFarOff * span) low = middle_low - span / 4;
  std::erase_if(values, [&](double value) { return low <= value && value <= high; });
  if (!values.empty()) {
    const std::string least = ShortNumber(values.front());
    const std::string most = ShortNumber(values.back());
    notes.push_back(Counted(static_cast<int64_t>(values.size()), "value") + " beyond the axis: " +
                    (least == most ? least : "from " + least + " to " + most));
  }
  return AxisFor(label, Scale::kLinear, low, high);
}

Axis ValueAxis(const FoundSweep& sweep, std::vector<double> values,
               std::vector<std::string>& notes) {
  return ValueAxis(MetricLabel(sweep.metric, sweep.direction()), std::move(values), notes);
}

// ---- learning curves

Result<Chart> Curves(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const std::string json, CurvesJson(database, sweep, {}));
  TUNE_ASSIGN_OR_RETURN(const Value curves, ParseJson(json));
  TUNE_ASSIGN_OR_RETURN(std::vector<WeighedTrial> trials, ReadWeighedTrials(database, sweep));
  std::erase_if(trials, [](const WeighedTrial& t) { return t.has_failed || !t.best_value; });
  std::stable_sort(trials.begin(), trials.end(), [&](const auto& a, const auto& b) {
    return IsBetterStanding(*a.best_value, a.violation, *b.best_value, b.violation,
                            sweep.direction());
  });
  Chart chart;
  chart.title = sweep.name + ": learning curves";
  chart.x.label = "iteration";
  std::vector<double> values;
  double last = 1;
  size_t other_count = 0;
  for (const Value& curve : curves.Find("curves")->AsList()) {
    Series series;
    const int64_t number = curve.Find("trial")->AsInt();
    for (int rank = 1; rank <= kRanks && rank <= static_cast<int>(trials.size()); ++rank) {
      if (trials[static_cast<size_t>(rank) - 1].number == number) series.rank = rank;
    }
    const Value::List& iterations = curve.Find("iterations")->AsList();
    const Value::List& reported = curve.Find("values")->AsList();
    for (size_t i = 0; i < iterations.size(); ++i) {
      if (!reported[i].is_number()) continue;
      series.points.emplace_back(iterations[i].AsDouble(), reported[i].AsDouble());
      values.push_back(reported[i].AsDouble());
      last = std::max(last, iterations[i].AsDouble());
    }
    other_count += series.rank == 0 ? 1 : 0;
    if (series.rank > 0) series.name = "trial " + std::to_string(number);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  if (values.empty()) return NothingYet(database, sweep);
  const int64_t left_out = curves.Find("left_out")->AsInt();
  for (Series& series : chart.series) {
    if (series.rank == 0) {
      series.name = Counted(static_cast<int64_t>(other_count), "other trial");
      break;
    }
  }
  if (left_out > 0) chart.notes.push_back(Counted(left_out, "trial") + " not drawn");
  chart.x.low = 1;
  chart.x.high = std::max(2.0, last);
  chart.y = ValueAxis(sweep, std::move(values), chart.notes);
  return chart;
}

// ---- the best value over time

struct TimeUnit {
  const char* label;
  double seconds;
};

TimeUnit UnitFor(double seconds) {
  if (seconds < 180) return {"s", 1};
  if (seconds < 3 * 3600) return {"min", 60};
  if (seconds < 3 * 86400) return {"h", 3600};
  return {"d", 86400};
}

Result<Chart> BestOverTime(Database& database, const FoundSweep& sweep) {
  static constexpr char kLastSql[] =
      "SELECT max(coalesce(t.finished_us, t.started_us, t.created_us)) FROM trial_rows AS t"
      " WHERE t.experiment = ?1";
  SweepCourse course(sweep);
  for (bool is_behind = true; is_behind;) {
    TUNE_ASSIGN_OR_RETURN(is_behind, course.Refresh(database));
  }
  const std::vector<SweepCourse::Step>& best = course.best();
  if (best.empty() && sweep.has_limits()) {
    TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> least, FindBestTrial(database, sweep));
    if (least) return FailedPrecondition(sweep.name + ": " + WarningOf(sweep, *least));
  }
  if (best.empty()) return NothingYet(database, sweep);
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kLastSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  const int64_t until_us =
      std::max(best.back().at_us, sweep.finished_us.value_or(has_row ? row->Int(0) : 0));
  const TimeUnit unit = UnitFor(static_cast<double>(until_us - sweep.created_us) / 1e6);
  const auto time_of = [&](int64_t at_us) {
    return static_cast<double>(at_us - sweep.created_us) / 1e6 / unit.seconds;
  };
  Chart chart;
  chart.title = sweep.name + ": best value so far";
  Series series;
  series.name = "best of all trials; now trial " + std::to_string(best.back().number);
  series.mark = Mark::kSteps;
  series.rank = 1;
  std::vector<double> values;
  for (const SweepCourse::Step& step : best) {
    series.points.emplace_back(time_of(step.at_us), step.value);
    values.push_back(step.value);
  }
  series.points.emplace_back(time_of(until_us), best.back().value);
  chart.series.push_back(std::move(series));
  chart.x = {std::string("time since the sweep began (") + unit.label + ")", Scale::kLinear, 0,
             std::max(1e-3, time_of(until_us))};
  chart.y = ValueAxis(sweep, std::move(values), chart.notes);
  return chart;
}

// ---- parameters

bool IsLog(const Domain& domain) {
  return domain.name().starts_with("log") || domain.name().starts_with("qlog");
}

struct DrawnTrial {
  int64_t number = 0;
  double value = 0;
  Metric violation;
  Configuration configuration;
};

// Those with a value that did not fail, the best first.
Result<std::vector<DrawnTrial>> ReadTrials(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(std::vector<WeighedTrial> all, ReadWeighedTrials(database, sweep));
  std::vector<DrawnTrial> trials;
  for (WeighedTrial& trial : all) {
    if (trial.has_failed || !trial.best_value) continue;
    trials.push_back(
        {trial.number, *trial.best_value, trial.violation, std::move(trial.configuration)});
  }
  std::stable_sort(trials.begin(), trials.end(), [&](const DrawnTrial& a, const DrawnTrial& b) {
    return IsBetterStanding(a.value, a.violation, b.value, b.violation, sweep.direction());
  });
  if (trials.empty()) return NothingYet(database, sweep);
  return trials;
}

enum class Room { kNone, kAround };

// The axis of a parameter: the words of a list, or the ends of its domain, or of the values where
// it has none. Nothing: no trial has it.
std::optional<Axis> ParameterAxis(const SpaceParameter& parameter,
                                  const std::vector<DrawnTrial>& trials, Room room) {
  const auto* const domain = std::get_if<Domain>(&parameter.content);
  if (domain == nullptr) return std::nullopt;
  std::vector<double> numbers;
  bool is_any = false;
  for (const DrawnTrial& trial : trials) {
    const Value* const value = trial.configuration.Find(parameter.name);
    is_any = is_any || value != nullptr;
    if (value != nullptr && value->is_number()) numbers.push_back(value->AsDouble());
  }
  if (!is_any) return std::nullopt;
  if (domain->is_list()) {
    Axis axis{parameter.name};
    const uint64_t count = domain->Count().value_or(0);
    for (uint64_t i = 0; i < count; ++i) axis.words.push_back(ShortText(domain->At(i)));
    axis.low = -0.5;
    axis.high = static_cast<double>(count) - 0.5;
    return axis;
  }
  if (numbers.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  std::pair<double, double> ends{*least, *most};
  // Points of an earlier sweep may lie outside.
  if (domain->Ends()) {
    ends = {std::min(*least, domain->Ends()->first), std::max(*most, domain->Ends()->second)};
  }
  const Scale scale = IsLog(*domain) && ends.first > 0 ? Scale::kLog : Scale::kLinear;
  if (room == Room::kNone && ends.first < ends.second) {
    return Axis{parameter.name, scale, ends.first, ends.second};
  }
  return AxisFor(parameter.name, scale, ends.first, ends.second);
}

std::optional<double> PlaceOn(const Axis& axis, const Configuration& configuration) {
  const Value* const value = configuration.Find(axis.label);
  if (value == nullptr) return std::nullopt;
  if (axis.words.empty())
    return value->is_number() ? std::optional(value->AsDouble()) : std::nullopt;
  const auto word = std::find(axis.words.begin(), axis.words.end(), ShortText(*value));
  if (word == axis.words.end()) return std::nullopt;
  return static_cast<double>(word - axis.words.begin());
}

Result<SearchSpace> ReadSpace(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, ReadStoredSpec(database, sweep));
  return SpaceOf(spec);
}

Result<Chart> Slice(Database& database, const FoundSweep& sweep, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, ReadSpace(database, sweep));
  std::vector<std::string_view> names;
  const SpaceParameter* found = nullptr;
  for (const SpaceParameter& parameter : space.parameters()) {
    if (!std::holds_alternative<Domain>(parameter.content)) continue;
    names.push_back(parameter.name);
    if (parameter.name == name) found = &parameter;
  }
  if (found == nullptr) {
    return InvalidArgument("slice: read '" + Printable(name) +
                           "', expected a parameter of the space" + DidYouMean(name, names));
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<DrawnTrial> trials, ReadTrials(database, sweep));
  const std::optional<Axis> axis = ParameterAxis(*found, trials, Room::kAround);
  if (!axis) return FailedPrecondition(sweep.name + ": no trial with a value has " + name);
  Chart chart;
  chart.title = sweep.name + ": " + sweep.metric + " over " + name;
  chart.x = *axis;
  Series others, best;
  others.mark = best.mark = Mark::kPoints;
  best.rank = 1;
  std::vector<double> values;
  for (const DrawnTrial& trial : trials) {
    const std::optional<double> place = PlaceOn(*axis, trial.configuration);
    if (!place) continue;
    values.push_back(trial.value);
    (&trial == &trials.front() ? best : others).points.emplace_back(*place, trial.value);
  }
  if (values.empty()) return FailedPrecondition(sweep.name + ": no trial with a value has " + name);
  others.name =
      Counted(static_cast<int64_t>(others.points.size()), "trial") + ", each with its best value";
  best.name = "the best, trial " + std::to_string(trials.front().number);
  if (!others.points.empty()) chart.series.push_back(std::move(others));
  if (!best.points.empty()) chart.series.push_back(std::move(best));
  chart.y = ValueAxis(sweep, std::move(values), chart.notes);
  return chart;
}

// A line for each run of neighbours, the first one first, and a bridge between two of them.
std::vector<Series> LinesThrough(const std::vector<std::pair<double, double>>& places, int rank) {
  std::vector<Series> lines, bridges;
  for (const auto& place : places) {
    const bool is_next = !lines.empty() && lines.back().points.back().first + 1 == place.first;
    if (!lines.empty() && !is_next) {
      Series& bridge = bridges.emplace_back();
      bridge.points = {lines.back().points.back(), place};
      bridge.is_bridge = true;
      bridge.rank = rank;
    }
    if (!is_next) lines.emplace_back().rank = rank;
    lines.back().points.push_back(place);
  }
  std::move(bridges.begin(), bridges.end(), std::back_inserter(lines));
  return lines;
}

Result<Chart> Parallel(Database& database, const FoundSweep& sweep) {
  constexpr size_t kColumnsMax = 11;  // And the metric.
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, ReadSpace(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const std::vector<DrawnTrial> trials, ReadTrials(database, sweep));
  Chart chart;
  chart.title = sweep.name + ": parameters and " + sweep.metric;
  size_t left_out = 0;
  for (const SpaceParameter& parameter : space.parameters()) {
    std::optional<Axis> axis = ParameterAxis(parameter, trials, Room::kNone);
    if (!axis) continue;
    if (chart.columns.size() >= kColumnsMax) {
      ++left_out;
      continue;
    }
    chart.columns.push_back(*std::move(axis));
  }
  if (chart.columns.empty()) return FailedPrecondition(sweep.name + ": no parameter varies");
  if (left_out > 0) {
    chart.notes.push_back(Counted(static_cast<int64_t>(left_out), "parameter") + " not drawn");
  }
  std::vector<double> values;
  for (const DrawnTrial& trial : trials) values.push_back(trial.value);
  Axis metric = ValueAxis(sweep, values, chart.notes);
  metric.label = sweep.metric;
  const size_t best_count = std::max<size_t>(1, trials.size() / 10);
  bool is_best_named = false, is_other_named = false, has_bridge = false;
  for (size_t i = 0; i < trials.size(); ++i) {
    const int rank = i < best_count ? 1 : 0;
    bool& is_named = rank == 1 ? is_best_named : is_other_named;
    // The places that it has, and lines between them: pieces of neighbours, and bridges over
    // others.
    std::vector<std::pair<double, double>> places;
    for (size_t column = 0; column < chart.columns.size(); ++column) {
      const std::optional<double> place = PlaceOn(chart.columns[column], trials[i].configuration);
      if (place) places.emplace_back(column, chart.columns[column].ShareOf(*place));
    }
    places.emplace_back(chart.columns.size(),
                        std::clamp(metric.ShareOf(trials[i].value), 0.0, 1.0));
    std::vector<Series> lines = LinesThrough(places, rank);
    if (!std::exchange(is_named, true)) {
      lines.front().name =
          rank == 1 ? "the best tenth: " + Counted(static_cast<int64_t>(best_count), "trial")
                    : "the other trials";
    }
    has_bridge |= lines.size() > 1 || places.front().first > 0;
    std::move(lines.begin(), lines.end(), std::back_inserter(chart.series));
  }
  chart.columns.push_back(std::move(metric));
  if (has_bridge)
    chart.notes.push_back("a line is broken over the axis of a parameter that its trial lacks");
  return chart;
}

Result<Chart> Importance(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const std::string members, ImportanceMembers(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const Value importance, ParseJson("{" + members + "}"));
  if (const Value* const why_not = importance.Find("why_not")) {
    return FailedPrecondition(why_not->AsString());
  }
  const Value& metric = importance.Find("metrics")->AsList().at(0);
  Chart chart;
  chart.title = sweep.name + ": what " + sweep.metric + " depends on";
  for (const Value& parameter : metric.Find("parameters")->AsList()) {
    Bar& bar = chart.bars.emplace_back();
    bar.name = parameter.Find("name")->AsString();
    bar.value = parameter.Find("share")->AsDouble();
    bar.low = parameter.Find("low")->AsDouble();
    bar.high = parameter.Find("high")->AsDouble();
    bar.is_clear = parameter.Find("is_clear")->AsBool();
  }
  std::string note = "from " + Counted(metric.Find("trials")->AsInt(), "trial");
  if (!metric.Find("iteration")->is_null()) {
    note += ", compared at iteration " + std::to_string(metric.Find("iteration")->AsInt());
  }
  chart.notes.push_back(note +
                        "; in brackets: nine tenths of the shares where trials are drawn anew");
  if (std::any_of(chart.bars.begin(), chart.bars.end(), [](const Bar& b) { return !b.is_clear; })) {
    chart.notes.push_back("pale: by itself no clearer than chance");
  }
  return chart;
}

// The first two objectives over each other.
Result<Chart> Front(Database& database, const FoundSweep& sweep) {
  if (sweep.objectives.size() < 2) {
    return FailedPrecondition(sweep.name + " has one objective: its best trial is its front");
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<ObjectiveValues> trials,
                        ReadObjectiveValues(database, sweep));
  if (trials.empty()) return NothingYet(database, sweep);
  std::set<int64_t> front;
  for (const ObjectiveValues& one : ParetoFront(trials, sweep.objectives)) front.insert(one.trial);
  Chart chart;
  chart.title =
      sweep.name + ": " + sweep.objectives[1].metric + " over " + sweep.objectives[0].metric;
  if (sweep.objectives.size() > 2) {
    chart.notes.push_back("the front is of all " + std::to_string(sweep.objectives.size()) +
                          " objectives, two are drawn");
  }
  Series others, best;
  others.mark = best.mark = Mark::kPoints;
  best.rank = 1;
  std::vector<double> x, y;
  for (const ObjectiveValues& trial : trials) {
    x.push_back(trial.values[0]);
    y.push_back(trial.values[1]);
    (front.contains(trial.trial) ? best : others).points.emplace_back(x.back(), y.back());
  }
  const auto count = [](const Series& series) {
    return Counted(static_cast<int64_t>(series.points.size()), "trial");
  };
  others.name = count(others) + " not on it";
  best.name = "the front: " + count(best) + " that none is better than";
  if (!others.points.empty()) chart.series.push_back(std::move(others));
  chart.series.push_back(std::move(best));
  const auto axis = [&](size_t i, std::vector<double> values) {
    const Objective& objective = sweep.objectives[i];
    return ValueAxis(MetricLabel(objective.metric, objective.mode), std::move(values), chart.notes);
  };
  chart.x = axis(0, std::move(x));
  chart.y = axis(1, std::move(y));
  return chart;
}

}  // namespace

std::optional<ChartKind> FindChartKind(std::string_view name) {
  if (name == "curves") return ChartKind::kCurves;
  if (name == "best") return ChartKind::kBest;
  if (name == "parallel") return ChartKind::kParallel;
  if (name == "importance") return ChartKind::kImportance;
  if (name == "slice") return ChartKind::kSlice;
  if (name == "front") return ChartKind::kFront;
  return std::nullopt;
}

Result<Chart> MakeChart(Database& database, const FoundSweep& sweep, ChartKind kind,
                        const std::string& parameter) {
  switch (kind) {
    case ChartKind::kCurves:
      return Curves(database, sweep);
    case ChartKind::kBest:
      return BestOverTime(database, sweep);
    case ChartKind::kParallel:
      return Parallel(database, sweep);
    case ChartKind::kImportance:
      return Importance(database, sweep);
    case ChartKind::kSlice:
      return Slice(database, sweep, parameter);
    case ChartKind::kFront:
      return Front(database, sweep);
  }
  return InvalidArgument("no such chart");
}

}  // namespace tune
