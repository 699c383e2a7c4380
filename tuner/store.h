// The truth of all experiments. The tuner's only way to make something durable; the seam behind
// which SQLite sits.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/decision_version.h"
#include "tuner/event.h"
#include "tuner/sweep_labels.h"
#include "tuner/transition.h"

namespace tune {

struct NewExperiment {
  std::string name;  // Wanted; "-2", "-3", ... is appended when it is taken.
  std::string metric;
  std::string mode;  // "max" or "min".
  uint64_t seed = 0;
  int64_t samples = 0;
  std::string spec;  // JSON of the document.
  std::string base_dir;
  std::string provenance;  // JSON: version, command line, host, git state, data hash.
  Instant created_at;
  SweepLabels labels = {};
  // Durable with the next commit at the latest, or with MakeDurable: until then nobody may be told
  // of it. Saves a sync where a first step follows.
  bool is_synced_later = false;
};

struct StoredExperiment {
  ExperimentId id;
  std::string name;
  std::string metric;
  std::string mode;
  uint64_t seed = 0;
  int64_t samples = 0;
  std::string spec;
  std::string base_dir;
  std::string provenance;
  int64_t decision_version = 0;
  ExperimentStatus status = ExperimentStatus::kRunning;
  Instant created_at;
  std::string given_up = {};  // As ExperimentRow has it.
};

struct JournalStep {
  int64_t step = 0;  // From 1, without gaps.
  Instant at;
  // What the sweep was told (EncodeStream); of older builds, what happened to it and to its workers
  // together (EncodeEvents).
  std::string events;
};

using StepTaker = std::function<Status(const JournalStep&)>;

// What a sweep was told in a step, and the rows that it led to.
struct SweepStep {
  ExperimentId experiment;
  const JournalStep& step;
  const Transition& rows;
};

class Store {
 public:
  virtual ~Store() = default;

  // Returns the id and the name that it got. Durable when it returns ok, but for is_synced_later.
  virtual Result<StoredExperiment> CreateExperiment(const NewExperiment& experiment) = 0;
  // All that was created is; nothing happens where a commit has seen to that.
  virtual Status MakeDurable() = 0;

  // Journal rows and all rows of these sweeps, each at most once, in one transaction; durable
  // (synced) when it returns ok. On failure nothing of it is there.
  virtual Status CommitSteps(std::span<const SweepStep> steps) = 0;
  // Of one sweep.
  Status Commit(ExperimentId experiment, const JournalStep& step, const Transition& rows) {
    const SweepStep only{experiment, step, rows};
    return CommitSteps({&only, 1});
  }

  // Forgets what is kept in memory to commit steps of this sweep, which has ended; they may come
  // all the same.
  virtual void Release(ExperimentId experiment) = 0;

  virtual Result<std::vector<StoredExperiment>> ListExperiments() = 0;  // By id.
  // Recovery: suggestions in order of trial number.
  virtual Result<std::vector<std::pair<TrialNumber, Configuration>>> ReadSuggestions(
      ExperimentId experiment) = 0;
  // The journal in order of step, one at a time: it may be far larger than what it leads to. Ends
  // with the first error of `take`; kDataLoss at the first step that is not as it was written.
  virtual Status EachStep(ExperimentId experiment, const StepTaker& take) = 0;
  // All of it at once.
  Result<std::vector<JournalStep>> ReadJournal(ExperimentId experiment) {
    std::vector<JournalStep> steps;
    TUNE_RETURN_IF_ERROR(EachStep(experiment, [&steps](const JournalStep& step) {
      steps.push_back(step);
      return OkStatus();
    }));
    return steps;
  }
  // By number. What the journal's replay must have led to.
  virtual Result<std::vector<TrialRow>> ReadTrials(ExperimentId experiment) = 0;
  // Those of the suggestions, not of what a trial then took over from another one; in order of
  // trial number, attempt, iteration; without their decisions.
  virtual Result<std::vector<ReportRow>> ReadReports(ExperimentId experiment) = 0;
  // As they were last written, by id.
  virtual Result<std::vector<WorkerRow>> ReadWorkers(ExperimentId experiment) = 0;
  // The highest id that a worker of any experiment has; 0: there was none.
  virtual Result<WorkerId> LastWorker() = 0;
};

}  // namespace tune
