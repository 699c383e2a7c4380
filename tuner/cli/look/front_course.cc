#include "tuner/cli/look/front_course.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/json.h"
#include "search/pareto.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr double kLeastBeyond = 1e-12;
constexpr int64_t kQuarters = 4;

LossPoint LossesOf(const std::vector<double>& values, const std::vector<Objective>& objectives) {
  LossPoint losses = values;
  for (size_t k = 0; k < losses.size(); ++k) losses[k] = AsLoss(losses[k], objectives[k].mode);
  return losses;
}

bool IsEndOfQuarter(int64_t ended, int64_t of) {
  for (int64_t part = 1; part <= kQuarters; ++part) {
    if (ended == of * part / kQuarters) return true;
  }
  return false;
}

// The front alone has the volume of all. Whether the point is part of it.
bool Join(const LossPoint& point, std::vector<LossPoint>& front) {
  const auto covers = [&](const LossPoint& other) {
    return other == point || Dominates(other, point);
  };
  if (std::any_of(front.begin(), front.end(), covers)) return false;
  std::erase_if(front, [&](const LossPoint& other) { return Dominates(point, other); });
  front.push_back(point);
  return true;
}

std::vector<double> GivenReference(Database& database, const FoundSweep& sweep) {
  const Result<ExperimentSpec> spec = ReadStoredSpec(database, sweep);
  const Value* const given =
      spec.ok() && spec->search.is_map() ? spec->search.Find("reference") : nullptr;
  std::vector<double> reference;
  if (given == nullptr || !given->is_list()) return reference;
  for (const Value& one : given->AsList()) {
    if (one.is_number()) reference.push_back(one.AsDouble());
  }
  return reference.size() == sweep.objectives.size() ? reference : std::vector<double>();
}

Result<std::vector<int64_t>> ReadEnds(Database& database, int64_t experiment) {
  static constexpr char kEndsSql[] =
      "SELECT number FROM trial_rows WHERE experiment = ?1 AND finished_us IS NOT NULL"
      " ORDER BY finished_us, number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kEndsSql));
  row->BindAll(experiment);
  std::vector<int64_t> numbers;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return numbers;
    numbers.push_back(row->Int(0));
  }
}

// Of one objective each trial counts with its best value.
Result<std::vector<ObjectiveValues>> ReadBestValues(Database& database, const FoundSweep& sweep) {
  const std::string violation = sweep.has_limits() ? "violation" : "NULL";
  const std::string sql = "SELECT number, best_value, " + violation +
                          " FROM trial_rows WHERE experiment = ?1 AND " + kMayBeBestSql;
  TUNE_ASSIGN_OR_RETURN(Statement row, database.Prepare(sql));
  row.BindAll(sweep.id);
  std::vector<ObjectiveValues> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return trials;
    trials.push_back({row.Int(0), {row.Real(1)}, row.OptionalReal(2).value_or(0)});
  }
}

}  // namespace

FrontCourse CourseOf(const std::vector<ObjectiveValues>& trials,
                     const std::vector<Objective>& objectives, const std::vector<double>& given,
                     CourseDetail detail) {
  FrontCourse course;
  course.ended = static_cast<int64_t>(trials.size());
  if (trials.empty()) return course;
  const bool has_several = objectives.size() > 1;
  std::vector<LossPoint> points;
  for (const ObjectiveValues& trial : trials) points.push_back(LossesOf(trial.values, objectives));
  LossPoint reference;
  if (has_several) {
    course.is_reference_given = !given.empty();
    reference = given.empty() ? BeyondTheWorst(points, kLeastBeyond) : LossesOf(given, objectives);
    course.reference = LossesOf(reference, objectives);  // Turned back.
  }
  std::vector<LossPoint> front;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool has_joined = trials[i].violation == 0 && Join(points[i], front);
    const auto ended = static_cast<int64_t>(i) + 1;
    const bool is_wanted =
        detail == CourseDetail::kEachStep ? has_joined : IsEndOfQuarter(ended, course.ended);
    if (!is_wanted || front.empty()) continue;
    const double value =
        has_several ? Hypervolume(front, reference) : AsLoss(front[0][0], objectives[0].mode);
    course.steps.push_back({ended, trials[i].trial, value});
  }
  return course;
}

Result<FrontCourse> ReadFrontCourse(Database& database, const FoundSweep& sweep,
                                    CourseDetail detail) {
  const bool has_several = sweep.objectives.size() > 1;
  TUNE_ASSIGN_OR_RETURN(std::vector<ObjectiveValues> all, has_several
                                                              ? ReadObjectiveValues(database, sweep)
                                                              : ReadBestValues(database, sweep));
  std::map<int64_t, ObjectiveValues> by_number;
  for (ObjectiveValues& one : all) by_number.emplace(one.trial, std::move(one));
  TUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, ReadEnds(database, sweep.id));
  std::vector<ObjectiveValues> ended;
  for (const int64_t number : ends) {
    const auto found = by_number.find(number);
    if (found != by_number.end()) ended.push_back(found->second);
  }
  return CourseOf(ended, sweep.objectives, GivenReference(database, sweep), detail);
}

std::string DescribeCourse(const FrontCourse& course) {
  if (course.steps.empty() || course.reference.empty()) return "";
  const auto value_after = [&](int64_t ended) {
    double value = 0;
    for (const CourseStep& step : course.steps) {
      if (step.ended <= ended) value = step.value;
    }
    return value;
  };
  std::string text = "hypervolume " + ShortNumber(course.steps.back().value) + " after " +
                     std::to_string(course.ended) + " trials";
  for (int64_t part = 1; part < kQuarters && course.ended >= 2 * kQuarters; ++part) {
    const int64_t ended = course.ended * part / kQuarters;
    text += (part == 1 ? ": " : ", ") + ShortNumber(value_after(ended)) + " after " +
            std::to_string(ended);
  }
  text += "; below ";
  for (size_t k = 0; k < course.reference.size(); ++k) {
    text += (k == 0 ? "" : " and ") + ShortNumber(course.reference[k]);
  }
  return text + (course.is_reference_given ? "" : " (the worst seen; search: {reference: [...]})");
}

}  // namespace tune
