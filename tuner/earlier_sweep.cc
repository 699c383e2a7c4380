#include "tuner/earlier_sweep.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"

namespace tune {
namespace {

// What a stored document says of its objectives: it has been checked when its sweep began.
std::vector<Objective> ObjectivesOf(const Value& document) {
  const auto items = [&](std::string_view key) {
    const Value* const value = document.is_map() ? document.Find(key) : nullptr;
    if (value == nullptr) return Value::List();
    return value->is_list() ? value->AsList() : Value::List{*value};
  };
  const Value::List metrics = items("metric");
  const Value::List modes = items("mode");
  std::vector<Objective> objectives;
  for (size_t i = 0; i < std::min(metrics.size(), modes.size()); ++i) {
    if (!metrics[i].is_string()) return {};
    objectives.push_back(
        {metrics[i].AsString(), modes[i] == Value("min") ? Mode::kMin : Mode::kMax});
  }
  return objectives;
}

// `stored`: the spec's `from` where the sweep began before; it learns from the same one for ever.
Result<StoredExperiment> FindEarlier(const ExperimentSpec& spec, const Value* stored,
                                     Store& store) {
  const Value* const began =
      stored != nullptr && stored->is_map() ? stored->Find("began") : nullptr;
  const auto deleted = [&spec](const std::string& and_what) {
    return InvalidArgument("from: the sweep '" + spec.from +
                           "' that this one learned from was deleted" + and_what +
                           "; what is there can be read, and a new sweep can go on from it: from: "
                           "NAME");
  };
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store.ListExperiments());
  std::vector<std::string_view> names;
  for (const StoredExperiment& experiment : experiments) names.push_back(experiment.name);
  const auto found = std::find(names.begin(), names.end(), spec.from);
  if (found == names.end()) {
    if (began != nullptr) return deleted("");
    return InvalidArgument("from: there is no sweep '" + spec.from + "' in the database" +
                           DidYouMean(spec.from, names));
  }
  const StoredExperiment& earlier = experiments[static_cast<size_t>(found - names.begin())];
  const bool is_same = began == nullptr || *began == Value(earlier.created_at.us);
  if (!is_same) return deleted(", and another has its name");
  const Result<Value> document = ParseJson(earlier.spec);
  if (!document.ok()) return document.status().At("from: the stored spec of " + earlier.name);
  const std::vector<Objective> theirs = ObjectivesOf(*document);
  if (theirs == spec.objectives()) return earlier;
  return InvalidArgument("from: the sweep '" + earlier.name + "' follows " +
                         DescribeObjectives(theirs) + ", this one " +
                         DescribeObjectives(spec.objectives()));
}

// By trial: what searchers were told of it then.
Result<std::map<TrialNumber, std::vector<EarlierTrial::Report>>> ReportsBefore(
    Instant before, const ExperimentSpec& spec, ExperimentId experiment, Store& store,
    const std::map<TrialNumber, Configuration>& configurations) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<ReportRow> rows, store.ReadReports(experiment));
  std::map<TrialNumber, std::vector<EarlierTrial::Report>> reports;
  for (const ReportRow& row : rows) {
    if (row.reported_at > before) continue;
    // No searcher was told of an iteration that is not whole, and its row is written anew.
    if (!row.decision && !row.value) continue;
    std::vector<EarlierTrial::Report>& of_trial = reports[row.trial];
    // An iteration reported again after a retry reached nobody.
    if (!of_trial.empty() && row.iteration <= of_trial.back().iteration) continue;
    EarlierTrial::Report report{row.iteration, {}};
    for (const Objective& objective : spec.objectives()) {
      report.values.push_back(FindObjective(row.metrics, objective.metric));
    }
    // By the limits of the present sweep, whatever the earlier one kept to.
    const auto configuration = configurations.find(row.trial);
    const std::vector<Metric> margins =
        configuration == configurations.end()
            ? std::vector<Metric>(spec.feasible.size())
            : spec.feasible.Margins(row.metrics, configuration->second);
    report.values.insert(report.values.end(), margins.begin(), margins.end());
    of_trial.push_back(std::move(report));
  }
  return reports;
}

// The trials that are learned from, and what is said of those that are not.
class Gathering {
 public:
  // `is_prior`: of each trial what the space has of it is enough.
  explicit Gathering(const SearchSpace& space, bool is_prior = false)
      : space_(space), is_prior_(is_prior) {}

  void Add(TrialNumber number, const Configuration& configuration, EarlierTrial trial) {
    Result<Configuration> fitted =
        is_prior_ ? ShareOfSpace(configuration, space_) : FitToSpace(configuration, space_);
    if (!fitted.ok()) return LeaveOut(number, fitted.status().message());
    trial.configuration = *std::move(fitted);
    sweep_.trials.push_back(std::move(trial));
    if (is_prior_) whole_.push_back({number, configuration});
  }

  EarlierSweep Finish(const std::string& source) {
    if (is_prior_) KeepThoseOfConstants();
    const bool has_result =
        std::any_of(sweep_.trials.begin(), sweep_.trials.end(),
                    [](const EarlierTrial& trial) { return !trial.reports.empty(); });
    if (is_prior_ && !has_result) sweep_.trials.clear();
    const auto count = static_cast<int64_t>(sweep_.trials.size());
    sweep_.note = (is_prior_ ? "from: the prior is " : "from: learning from ") +
                  Counted(count, "trial") + " of " + source;
    if (count == 0) {
      sweep_.note = "from: there is nothing to learn from " + source;
      if (left_out_ == 0) {
        sweep_.note += is_prior_ ? ": no trial of it has a result"
                                 : ": no trial of it has reported or failed yet";
      }
    }
    const std::string unknown = is_prior_ && count > 0 ? Unknown() : "";
    if (!unknown.empty()) sweep_.note += "; it knows nothing of " + unknown;
    if (left_out_ > 0) {
      sweep_.note += "; " + std::to_string(left_out_) + " do not fit this space (" + why_ + ")";
    }
    return std::move(sweep_);
  }

 private:
  struct Whole {
    TrialNumber number;
    Configuration configuration;
  };

  void LeaveOut(TrialNumber number, const std::string& why) {
    if (left_out_++ > 0 && number.value > first_left_out_) return;
    first_left_out_ = number.value;
    why_ = "trial " + std::to_string(number.value) + ": " + why;
  }

  // Where some trials had what is constant now, those that had another value tell of something
  // else. Each constant counts for itself.
  void KeepThoseOfConstants() {
    for (const SpaceParameter& parameter : space_.parameters()) {
      const auto* const constant = std::get_if<Value>(&parameter.content);
      const auto has = [&](const Whole& trial, bool same) {
        const Value* const value = trial.configuration.Find(parameter.name);
        return value != nullptr && IsSameValue(*constant, *value) == same;
      };
      const bool had_any =
          constant != nullptr && std::any_of(whole_.begin(), whole_.end(),
                                             [&](const Whole& trial) { return has(trial, true); });
      for (size_t i = whole_.size(); had_any && i-- > 0;) {
        if (!has(whole_[i], false)) continue;
        LeaveOut(whole_[i].number, "'" + parameter.name + "' was " +
                                       Shown(*whole_[i].configuration.Find(parameter.name)) +
                                       ", now it is " + Shown(*constant));
        whole_.erase(whole_.begin() + static_cast<std::ptrdiff_t>(i));
        sweep_.trials.erase(sweep_.trials.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // Parameters that no trial of a prior had.
  std::string Unknown() const {
    std::string names;
    for (const SpaceParameter& parameter : space_.parameters()) {
      const bool is_known =
          std::any_of(sweep_.trials.begin(), sweep_.trials.end(), [&](const EarlierTrial& trial) {
            return trial.configuration.Find(parameter.name) != nullptr;
          });
      const bool is_drawn = std::holds_alternative<Domain>(parameter.content);
      if (is_drawn && !is_known) names += (names.empty() ? "" : ", ") + parameter.name;
    }
    return names;
  }

  const SearchSpace& space_;
  bool is_prior_;
  EarlierSweep sweep_;
  std::vector<Whole> whole_;  // As they were, of each trial of a prior.
  int64_t left_out_ = 0;
  int64_t first_left_out_ = 0;
  std::string why_;  // Of the first one.
};

// A study's parameters under the names of the space, with its constants.
Configuration InWordsOf(const SearchSpace& space, const Configuration& configuration) {
  const auto has = [&space](std::string_view name) {
    return std::any_of(space.parameters().begin(), space.parameters().end(),
                       [name](const SpaceParameter& known) { return known.name == name; });
  };
  Configuration renamed;
  for (const auto& [name, value] : configuration.parameters()) {
    std::string nested = name;
    std::replace(nested.begin(), nested.end(), '.', '/');
    renamed.Set(!has(name) && has(nested) ? nested : name, value);
  }
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    const SpaceParameter& parameter = space.parameters()[i];
    const auto* const constant = std::get_if<Value>(&parameter.content);
    if (constant == nullptr || renamed.Find(parameter.name) != nullptr) continue;
    if (space.IsActive(i, renamed)) renamed.Set(parameter.name, *constant);
  }
  return renamed;
}

// Behind the objectives by how much each limit was broken, where the study knew.
Result<EarlierTrial::Report> ReadReport(const Value& list, size_t objective_count,
                                        size_t limit_count) {
  const bool is_report =
      list.is_list() && list.AsList().size() > objective_count && list.AsList().front().is_int();
  if (!is_report) return InvalidArgument("a report is no list of an iteration and its values");
  EarlierTrial::Report report{list.AsList().front().AsInt(), {}};
  for (size_t i = 1; i < list.AsList().size(); ++i) {
    const Value& value = list.AsList()[i];
    report.values.push_back(value.is_number() ? Metric(value.AsDouble()) : Metric());
  }
  report.values.resize(objective_count + limit_count);
  return report;
}

Result<EarlierSweep> ReadStudy(const Value& study, const ExperimentSpec& spec,
                               const SearchSpace& space) {
  static const Value kNone = Value::MakeList();
  const auto list_at = [](const Value& map, std::string_view key) -> const Value& {
    const Value* const value = map.is_map() ? map.Find(key) : nullptr;
    return value != nullptr && value->is_list() ? *value : kNone;
  };
  Gathering gathering(space);
  int64_t without_value = 0;
  for (const Value& entry : list_at(study, "trials").AsList()) {
    TUNE_ASSIGN_OR_RETURN(const Configuration configuration,
                          Configuration::FromFlat(list_at(entry, "config")));
    EarlierTrial trial;
    for (const Value& list : list_at(entry, "reports").AsList()) {
      TUNE_ASSIGN_OR_RETURN(EarlierTrial::Report report,
                            ReadReport(list, spec.objectives().size(), spec.feasible.size()));
      trial.reports.push_back(std::move(report));
    }
    trial.has_failed = entry.is_map() && entry.Find("failed") != nullptr;
    if (trial.reports.empty() && !trial.has_failed) {
      ++without_value;
      continue;
    }
    const Value* const number = entry.Find("number");
    gathering.Add(TrialNumber{number != nullptr && number->is_int() ? number->AsInt() : 0},
                  InWordsOf(space, configuration), std::move(trial));
  }
  const Value* const name = study.Find("study");
  EarlierSweep sweep = gathering.Finish(
      "the Optuna study " + (name != nullptr ? Shown(*name) : std::string("that is stored")));
  if (without_value > 0) {
    sweep.note += "; " + Counted(without_value, "trial") + " without a value yet";
  }
  return sweep;
}

}  // namespace

namespace {

// Of a stored sweep: which of the earlier one's trials had failed. Nothing where that was not
// noted.
std::optional<std::set<int64_t>> FailedIn(const Value* stored) {
  const Value* const list =
      stored != nullptr && stored->is_map() ? stored->Find("failed") : nullptr;
  if (list == nullptr || !list->is_list()) return std::nullopt;
  std::set<int64_t> failed;
  for (const Value& number : list->AsList()) {
    if (number.is_int()) failed.insert(number.AsInt());
  }
  return failed;
}

Result<EarlierSweep> ReadEarlier(const ExperimentSpec& spec, const SearchSpace& space,
                                 Instant before, Store& store, const Value* stored) {
  if (spec.from.empty()) return EarlierSweep();
  if (const Value* const study = StudyOf(spec)) return ReadStudy(*study, spec, space);
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment earlier, FindEarlier(spec, stored, store));
  TUNE_ASSIGN_OR_RETURN(const std::vector<TrialRow> trials, store.ReadTrials(earlier.id));
  TUNE_ASSIGN_OR_RETURN(const auto suggestions, store.ReadSuggestions(earlier.id));
  const std::map<TrialNumber, Configuration> configurations(suggestions.begin(), suggestions.end());
  TUNE_ASSIGN_OR_RETURN(auto reports,
                        ReportsBefore(before, spec, earlier.id, store, configurations));
  const std::optional<std::set<int64_t>> noted = FailedIn(stored);
  Gathering gathering(space, spec.from_is_prior);
  Value failed = Value::MakeList();
  for (const TrialRow& row : trials) {
    EarlierTrial trial;
    trial.reports = std::move(reports[row.number]);
    trial.has_failed =
        noted ? noted->contains(row.number.value)
              : row.status == TrialStatus::kError && row.finished_at && *row.finished_at <= before;
    if (trial.has_failed) failed.AsList().emplace_back(row.number.value);
    const auto configuration = configurations.find(row.number);
    if (configuration == configurations.end()) continue;
    if (trial.reports.empty() && !trial.has_failed) continue;
    gathering.Add(row.number, configuration->second, std::move(trial));
  }
  EarlierSweep sweep = gathering.Finish(earlier.name);
  sweep.from = Value::MakeMap();
  sweep.from.Set(spec.from_is_prior ? "prior" : "sweep", Value(earlier.name));
  sweep.from.Set("began", Value(earlier.created_at.us));
  sweep.from.Set("failed", std::move(failed));
  return sweep;
}

Result<EarlierSweep> NotEmpty(Result<EarlierSweep> sweep) {
  if (!sweep.ok() || !sweep->trials.empty() || sweep->note.empty()) return sweep;
  return InvalidArgument(sweep->note + "; leave `from` out to begin without");
}

}  // namespace

Result<EarlierSweep> ReadEarlierAtStart(const ExperimentSpec& spec, const SearchSpace& space,
                                        Instant before, Store& store) {
  return NotEmpty(ReadEarlier(spec, space, before, store, /*stored=*/nullptr));
}

Status CheckStudy(const ExperimentSpec& spec, const SearchSpace& space) {
  const Value* const study = StudyOf(spec);
  return study == nullptr ? OkStatus() : NotEmpty(ReadStudy(*study, spec, space)).status();
}

const Value* StudyOf(const ExperimentSpec& spec) {
  const Value* const from = spec.document.is_map() ? spec.document.Find("from") : nullptr;
  return from != nullptr && from->is_map() && from->Find("optuna") != nullptr ? from : nullptr;
}

std::string EarlierNameIn(const Value& document) {
  const Value* from = document.is_map() ? document.Find("from") : nullptr;
  if (from != nullptr && from->is_map()) {
    const Value* const sweep = from->Find("sweep");
    from = sweep != nullptr ? sweep : from->Find("prior");
  }
  return from != nullptr && from->is_string() ? from->AsString() : std::string();
}

Value WithEarlier(Value document, const EarlierSweep& earlier) {
  if (!earlier.from.is_null()) document.Set("from", earlier.from);
  return document;
}

Result<EarlierSweep> ReadEarlierSweep(const ExperimentSpec& spec, const SearchSpace& space,
                                      Instant before, Store& store) {
  const Value* const stored = spec.document.is_map() ? spec.document.Find("from") : nullptr;
  return ReadEarlier(spec, space, before, store, stored);
}

}  // namespace tune
