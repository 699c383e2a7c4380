// A sweep as a worker that takes part in it knows it.
//
// Thread rule: values, and a pure function.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "core/value.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

struct SweepHere {
  SweepInfo info;
  Value trainable;
  Result<std::string> program;  // That runs it; or why none can.
  std::string working_folder;   // On the tuner's machine.
  std::vector<CommandInput> inputs = {};
  bool knows_inputs = false;  // Those of food11 stand in the configuration of its trials.

  std::optional<WantedPlace> wanted = {};  // Asked for.
  std::optional<FoundPlace> found = {};    // Answered last.
  std::string artifacts_there = {};        // What its artifacts are on the tuner's machine.
  // The tuner has another package now. Attempts wait for another place, and what runs goes on in
  // the one that was found: where its trials save is the same in both.
  bool is_outdated = false;
  std::string unfit = {};  // Why this machine cannot run it; empty: it can, as far as is known.
  bool was_unfit = false;
  std::optional<Instant> tries_again = {};  // It may be mended by then: a disk that is mounted.
  Duration pause = {};                      // Before the last time; longer each time.
  // Their processes ended with others in them. They run alone from now on.
  std::set<TrialNumber> loners = {};

  bool HasPlace() const { return found && !is_outdated; }
  // The answer to what is wanted.
  void Settle(FoundPlace place);
  // The tuner has another package.
  void Change(const PackageName& package);
  // Whether a process that has run trials of it may run another sweep's: one that starts each
  // trial's program anew keeps nothing of those before.
  bool SharesProcesses() const;
  // Before each attempt: what its first one says of the sweep's data.
  void LearnInputs(const std::string& config);
  // A line where data from object stores were brought here that are others than when the sweep
  // began; empty: as far as is known they are the same.
  std::string DataNote() const;
  // A trial's folder, as it is named on this machine.
  std::string FolderHere(const std::string& artifact_dir) const;
};

// Of what the tuner said of it.
SweepHere Understand(const SweepInfo& info);

}  // namespace tune
