// Finds out where sweeps run on this machine, beside the worker's loop: the folder of its
// programs, which is fetched if need be, where what its trials save goes, and its data, which are
// brought from their object store (input_fetcher.h).
//
// A worker that has the tuner's folder, or one with the same content at its place, uses that; any
// other has a copy of its own (package/package_store.h). Whether it shares a folder with the tuner
// is found out by writing something there that the tuner then sees, or not.
//
// Thread rule: Begin, Leave and the destructor from one thread, which they never keep waiting but
// for a moment: a search that waits for a disk that does not answer is left behind. The answer
// comes from a thread of the fetcher's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/package_source.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

class PackageFetcher {
 public:
  struct Means {
    PackageDial dial;
    // Must outlive the fetcher; a search that was left behind asks nothing any more.
    CheckpointLink* checkpoints = nullptr;
    std::string
        cache;  // This user's on this machine; empty: there is none, nothing can be fetched.
    std::string tuner;  // No other tuner's; what trials leave here is kept apart by it.
    // What the sweep's data wait for, or how far they are; called by threads of the fetcher's.
    // Null: nobody is told.
    std::function<void(ExperimentId, std::string)> on_wait = {};
  };
  explicit PackageFetcher(Means means);
  ~PackageFetcher();

  using OnFound = std::function<void(ExperimentId, const WantedPlace&, Result<FoundPlace>)>;
  // Once it is known; never, if another Begin of the sweep, or its end, comes before. Errors: of
  // this machine, in one line.
  void Begin(ExperimentId sweep, const WantedPlace& wanted, OnFound on_found);
  // Nothing of it runs here any more.
  void Leave(ExperimentId sweep);

 private:
  struct Search;
  static void GiveUp(Search& search);

  const Means means_;
  // All of a sweep, of which the last may be at work: trials run in what they hold, or ran.
  std::map<ExperimentId, std::vector<std::shared_ptr<Search>>> searches_;
};

}  // namespace tune
