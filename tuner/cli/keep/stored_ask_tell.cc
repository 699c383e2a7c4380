#include "tuner/cli/keep/stored_ask_tell.h"

#include <filesystem>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "tuner/earlier_sweep.h"
#include "tuner/export/optuna_study.h"
#include "tuner/search_problem.h"
#include "tuner/spec_difference.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr char kTrainable[] = "ask-tell";

Result<AskTellSession> MakeSession(const ExperimentSpec& spec, const SearchSpace& space,
                                   uint64_t seed, int64_t decision_version, EarlierSweep earlier) {
  SearchProblem problem = ProblemOf(spec, space, /*samples=*/-1, seed, decision_version);
  Teach(spec, std::move(earlier.trials), problem);
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher,
                        MakeSearcher(spec.search, std::move(problem)));
  return AskTellSession(std::move(searcher), spec.objectives(), spec.feasible);
}

Result<ExperimentSpec> StoredSpec(const StoredExperiment& experiment) {
  return InterpretStoredSpec(experiment.spec, experiment.name, experiment.base_dir,
                             /*require_trainable=*/false);
}

Status CheckSame(const StoredExperiment& experiment, const ExperimentSpec& stored,
                 const ExperimentSpec& spec) {
  if (!IsAskTell(stored.document)) {
    return InvalidArgument("--name: " + experiment.name +
                           " is a sweep of tune run, whose own trials report; name another");
  }
  std::vector<std::string> differences = DescribeSpecDifferences(stored, spec);
  if (spec.seed && *spec.seed != experiment.seed) {
    differences.push_back("seed: " + std::to_string(experiment.seed) + " is stored, the file has " +
                          std::to_string(*spec.seed));
  }
  if (differences.empty()) return OkStatus();
  std::string text = "the space file differs from what " + experiment.name +
                     " was begun with; go on with that one, or name another sweep with --name:";
  for (const std::string& difference : differences) text += "\n  " + difference;
  return InvalidArgument(text);
}

Result<std::vector<AskTellSession::JournalLine>> LinesOf(const std::vector<JournalStep>& journal) {
  std::vector<AskTellSession::JournalLine> lines;
  for (const JournalStep& step : journal) {
    const Result<Value> list = ParseJson(step.events);
    if (!list.ok() || !list->is_list()) {
      return DataLoss("journal step " + std::to_string(step.step) + " is no list of lines");
    }
    for (const Value& line : list->AsList()) {
      if (!line.is_string()) {
        return DataLoss("journal step " + std::to_string(step.step) + ": read " + Shown(line) +
                        ", expected a line as text; the database is damaged, go on from a backup");
      }
      lines.push_back({line.AsString(), step.at});
    }
  }
  return lines;
}

}  // namespace

bool IsAskTell(const Value& spec) {
  const Value* const trainable = spec.is_map() ? spec.Find("trainable") : nullptr;
  return trainable != nullptr && *trainable == Value(kTrainable);
}

StoredAskTell::StoredAskTell(std::unique_ptr<SqliteStore> store, const StoredExperiment& experiment,
                             AskTellSession session, const Clock& clock)
    : store_(std::move(store)),
      id_(experiment.id),
      name_(experiment.name),
      session_(std::move(session)),
      clock_(clock) {}

Result<std::unique_ptr<StoredAskTell>> StoredAskTell::Open(const std::string& db_path,
                                                           std::string name, ExperimentSpec spec,
                                                           uint64_t seed,
                                                           const std::string& provenance,
                                                           const Clock& clock) {
  spec.trainable = Value(kTrainable);
  spec.document.Set("trainable", Value(kTrainable));
  std::error_code ignored;  // Opening it says what is wrong.
  const bool is_there = std::filesystem::exists(db_path, ignored);
  if (!is_there) {
    TUNE_RETURN_IF_ERROR(CheckNewSweepName(name).At("--name"));
    TUNE_RETURN_IF_ERROR(RefuseDurations(spec.search));
  }
  const bool needs_database = !spec.from.empty() && StudyOf(spec) == nullptr;
  if (needs_database && !is_there) {
    return InvalidArgument("from: there is no database " + db_path);
  }
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store,
                        SqliteStore::Open(db_path, Access::kCreate, clock.Now()));
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store->ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.name != name) continue;
    TUNE_ASSIGN_OR_RETURN(const ExperimentSpec stored, StoredSpec(experiment));
    TUNE_RETURN_IF_ERROR(CheckSame(experiment, stored, spec));
    return GoOn(std::move(store), experiment, stored, clock);
  }
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(name).At("--name"));
  TUNE_RETURN_IF_ERROR(RefuseDurations(spec.search));
  TUNE_RETURN_IF_ERROR(TakeOptunaTrials(spec));
  NewExperiment wanted;
  wanted.created_at = clock.Now();
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(EarlierSweep earlier,
                        ReadEarlierAtStart(spec, space, wanted.created_at, *store));
  wanted.spec = ToJson(WithEarlier(spec.document, earlier));
  TUNE_ASSIGN_OR_RETURN(AskTellSession session,
                        MakeSession(spec, space, seed, kDecisionVersion, std::move(earlier)));
  wanted.name = std::move(name);
  wanted.metric = spec.metric;
  wanted.mode = spec.mode == Mode::kMax ? "max" : "min";
  wanted.seed = seed;
  wanted.samples = -1;
  wanted.base_dir = spec.base_dir;
  wanted.provenance = provenance;
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment experiment, store->CreateExperiment(wanted));
  std::unique_ptr<StoredAskTell> made(
      new StoredAskTell(std::move(store), experiment, std::move(session), clock));
  made->session_.KeepSteps();
  made->is_new_ = true;
  return made;
}

Result<std::unique_ptr<StoredAskTell>> StoredAskTell::OpenStored(const std::string& db_path,
                                                                 const std::string& name,
                                                                 const Clock& clock) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store,
                        SqliteStore::Open(db_path, Access::kWrite, clock.Now()));
  TUNE_ASSIGN_OR_RETURN(const std::vector<StoredExperiment> experiments, store->ListExperiments());
  std::string names;
  for (auto it = experiments.rbegin(); it != experiments.rend(); ++it) {
    TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, StoredSpec(*it));
    if (!IsAskTell(spec.document)) continue;
    if (name.empty() || it->name == name) return GoOn(std::move(store), *it, spec, clock);
    names += (names.empty() ? "" : ", ") + it->name;
  }
  return NotFound(db_path + ": there is no ask-tell sweep" +
                  (name.empty() ? "" : " '" + name + "'") +
                  (names.empty() ? "; begin one with tune ask SPACE" : "; it has " + names));
}

Result<AskTellSession> StoredAskTell::Replayed(SqliteStore& store,
                                               const StoredExperiment& experiment,
                                               const ExperimentSpec& spec, int64_t& step_count) {
  if (!IsKnownDecisionVersion(experiment.decision_version)) {
    return FailedPrecondition(
        experiment.name + " was decided by version " + std::to_string(experiment.decision_version) +
        " of the decision code, this program has version " + std::to_string(kDecisionVersion) +
        "; go on with the program that began it");
  }
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(EarlierSweep earlier,
                        ReadEarlierSweep(spec, space, experiment.created_at, store));
  TUNE_ASSIGN_OR_RETURN(
      AskTellSession session,
      MakeSession(spec, space, experiment.seed, experiment.decision_version, std::move(earlier)));
  TUNE_ASSIGN_OR_RETURN(const std::vector<JournalStep> journal, store.ReadJournal(experiment.id));
  TUNE_ASSIGN_OR_RETURN(const auto lines, LinesOf(journal));
  TUNE_ASSIGN_OR_RETURN(auto suggestions, store.ReadSuggestions(experiment.id));
  TUNE_RETURN_IF_ERROR(session.Replay(lines, std::move(suggestions)).At(experiment.name));
  step_count = static_cast<int64_t>(journal.size());
  return session;
}

Status StoredAskTell::CheckJournal(SqliteStore& store, const StoredExperiment& experiment) {
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec, StoredSpec(experiment));
  int64_t step_count = 0;
  return Replayed(store, experiment, spec, step_count).status();
}

Result<std::unique_ptr<StoredAskTell>> StoredAskTell::GoOn(std::unique_ptr<SqliteStore> store,
                                                           const StoredExperiment& experiment,
                                                           const ExperimentSpec& spec,
                                                           const Clock& clock) {
  int64_t step_count = 0;
  TUNE_ASSIGN_OR_RETURN(AskTellSession session, Replayed(*store, experiment, spec, step_count));
  session.KeepSteps();
  std::unique_ptr<StoredAskTell> there(
      new StoredAskTell(std::move(store), experiment, std::move(session), clock));
  there->last_step_ = step_count;
  return there;
}

Result<std::vector<std::string>> StoredAskTell::OnLine(std::string_view line) {
  return session_.OnLine(line, clock_.Now());
}

Status StoredAskTell::Commit() {
  AskTellSession::Step step = session_.TakeStep();
  if (step.lines.empty()) return OkStatus();
  Value list = Value::MakeList();
  for (std::string& line : step.lines) list.AsList().emplace_back(std::move(line));
  ++last_step_;
  return store_->Commit(id_, {last_step_, clock_.Now(), ToJson(list)}, step.rows);
}

}  // namespace tune
