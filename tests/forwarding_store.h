// A store in front of another one, for those that do one thing otherwise.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "tuner/store.h"

namespace tune {

class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& inner) : inner_(inner) {}
  Result<StoredExperiment> CreateExperiment(const NewExperiment& experiment) override {
    return inner_.CreateExperiment(experiment);
  }
  Status MakeDurable() override { return inner_.MakeDurable(); }
  Status CommitSteps(std::span<const SweepStep> steps) override {
    return inner_.CommitSteps(steps);
  }
  void Release(ExperimentId experiment) override { inner_.Release(experiment); }
  Result<std::vector<StoredExperiment>> ListExperiments() override {
    return inner_.ListExperiments();
  }
  Result<std::vector<std::pair<TrialNumber, Configuration>>> ReadSuggestions(
      ExperimentId experiment) override {
    return inner_.ReadSuggestions(experiment);
  }
  Status EachStep(ExperimentId experiment, const StepTaker& take) override {
    return inner_.EachStep(experiment, take);
  }
  Result<std::vector<TrialRow>> ReadTrials(ExperimentId experiment) override {
    return inner_.ReadTrials(experiment);
  }
  Result<std::vector<ReportRow>> ReadReports(ExperimentId experiment) override {
    return inner_.ReadReports(experiment);
  }
  Result<std::vector<WorkerRow>> ReadWorkers(ExperimentId experiment) override {
    return inner_.ReadWorkers(experiment);
  }
  Result<WorkerId> LastWorker() override { return inner_.LastWorker(); }

 protected:
  Store& inner_;
};

}  // namespace tune
