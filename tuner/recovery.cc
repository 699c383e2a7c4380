#include "tuner/recovery.h"

#include "core/json.h"
#include "tuner/event.h"
#include "tuner/spec_reader.h"

namespace tune {

Result<std::unique_ptr<ExperimentController>> MakeController(const ExperimentSpec& spec,
                                                             uint64_t seed, const std::string& name,
                                                             const std::string& artifacts_dir) {
  TUNE_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Parse(spec.space));
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Searcher> searcher,
                        MakeSearcher(spec.search, space, spec.samples, seed));
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<TrialScheduler> scheduler,
                        MakeScheduler(spec.scheduler, spec.mode, seed));
  ControllerOptions options{spec, seed, std::move(space), name, artifacts_dir + "/" + name};
  return std::make_unique<ExperimentController>(std::move(options), std::move(searcher),
                                                std::move(scheduler));
}

Result<int64_t> Replay(const std::vector<JournalStep>& journal, ExperimentController& controller) {
  int64_t last_step = 0;
  for (const JournalStep& step : journal) {
    const std::string place = "journal step " + std::to_string(step.step);
    if (step.step != last_step + 1) {
      return DataLoss(place + " follows step " + std::to_string(last_step));
    }
    const Result<std::vector<Event>> events = DecodeEvents(step.events);
    if (!events.ok()) return events.status().At(place);
    controller.Apply(*events, step.at);
    last_step = step.step;
  }
  return last_step;
}

Result<RecoveredExperiment> Recover(const StoredExperiment& experiment,
                                    const std::string& artifacts_dir, Store& store) {
  if (experiment.decision_version != kDecisionVersion) {
    return FailedPrecondition(
        experiment.name + " was decided by version " + std::to_string(experiment.decision_version) +
        " of the decision code, this program has version " + std::to_string(kDecisionVersion) +
        "; resume it with the program that began it");
  }
  const std::string place = "the stored spec of " + experiment.name;
  const Result<Value> document = ParseJson(experiment.spec);
  if (!document.ok()) return document.status().At(place);
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                        InterpretSpec(*document, place, experiment.base_dir, true));
  RecoveredExperiment recovered;
  TUNE_ASSIGN_OR_RETURN(recovered.controller,
                        MakeController(spec, experiment.seed, experiment.name, artifacts_dir));
  TUNE_ASSIGN_OR_RETURN(auto suggestions, store.ReadSuggestions(experiment.id));
  recovered.controller->RestoreSuggestions(std::move(suggestions));
  TUNE_ASSIGN_OR_RETURN(const std::vector<JournalStep> journal, store.ReadJournal(experiment.id));
  TUNE_ASSIGN_OR_RETURN(recovered.last_step, Replay(journal, *recovered.controller));
  return recovered;
}

}  // namespace tune
