#include "tests/sim/simulated_bucket.h"

#include <iterator>
#include <utility>

#include "core/limits.h"

namespace tune::sim {
namespace {

constexpr double kWaySecondsMax = 0.5;
constexpr double kBucketPauseSecondsMax = 2;

// .../<trial>/<name>.
std::string TrialAndNameOf(const std::string& path) {
  return path.substr(path.rfind('/', path.rfind('/') - 1) + 1);
}

void WriteDurably(SimulatedDisk& disk, const std::string& file, const std::string& text) {
  const SimulatedDisk::FilePtr made = disk.FindOrMake(file);
  SimulatedDisk::Truncate(*made, 0);
  SimulatedDisk::Write(*made, 0, text);
  SimulatedDisk::Sync(*made);
  disk.SyncName(file);
}

}  // namespace

SimulatedBucket::SimulatedBucket(Environment& environment, SimulatedDisk& disk, KeyedRandom random,
                                 Worker worker)
    : environment_(environment), disk_(disk), random_(random), worker_(std::move(worker)) {}

void SimulatedBucket::Keep(const KeepCheckpoint& keep) {
  const JobId job = ++last_job_;
  jobs_.emplace(job, keep.ref);
  const SimulatedDisk::FilePtr here = disk_.Find(keep.folder + "/state");
  if (here == nullptr) {
    return environment_.trace.Fail("a worker sends " + keep.folder + ", which it does not have");
  }
  const std::string text = here->cached;
  const std::string url = found_.bucket + "/" + std::to_string(keep.ref.trial.value) + "/" +
                          keep.folder.substr(keep.folder.rfind('/') + 1);
  Try(job, keep.ref, [this, job, keep, text, url] {
    if (environment_.swarm.planted != PlantedFault::kCheckpointNotSent) {
      WriteDurably(environment_.disk, url + "/state", text);
      environment_.corrupted.erase(url + "/state");
      environment_.trace.Note("checkpoint stored", {keep.ref.trial.value}, url);
    }
    Answer(job, [this, keep, text, url] {
      worker_.kept(keep.ref, KeptCheckpoint{url, {keep.folder, text}});
    });
  });
}

void SimulatedBucket::Obtain(const ObtainCheckpoint& obtain) {
  const JobId job = ++last_job_;
  jobs_.emplace(job, obtain.ref);
  const auto tell = [this, obtain](const Result<CheckpointCopy>& copy) {
    worker_.obtained(obtain.ref, copy);
  };
  if (obtain.path.empty()) {  // What its program left: nobody asks for it here.
    environment_.happenings.After(
        {}, [this, job, tell] { Answer(job, [tell] { tell(CheckpointCopy{}); }); });
    return;
  }
  Try(job, obtain.ref, [this, job, tell, obtain] {
    const SimulatedDisk::FilePtr here = disk_.Find(obtain.copy.folder + "/state");
    const bool is_here = here != nullptr && here->cached == obtain.copy.sha256;
    Answer(job, [this, tell, obtain, is_here] {
      tell(is_here ? Result<CheckpointCopy>(obtain.copy) : Bring(obtain.path));
    });
  });
}

// The machine may be at its end before, or give it up: what the store takes last may come all the
// same.
void SimulatedBucket::Try(JobId job, const AttemptRef& ref, const Happenings::Act& arrive) {
  const Duration takes = Seconds(random_.NextUniform(0, kWaySecondsMax));
  const bool is_last_on_its_way = random_.NextBelow(4) == 0;
  const Duration pause = Seconds(random_.NextUniform(0.1, kBucketPauseSecondsMax));
  const auto try_again = [this, job, ref, arrive] {
    if (jobs_.contains(job)) Try(job, ref, arrive);
  };
  if (!IsAtWork(job)) return environment_.happenings.After(pause, try_again);
  environment_.happenings.After(takes, [=, this] {
    const bool is_waited_for = jobs_.contains(job);
    if (!is_waited_for && !is_last_on_its_way) return;
    if (!environment_.is_store_away) return arrive();
    if (!is_waited_for) return;
    worker_.when_awake([this, ref] { worker_.waits(ref, "the store is away"); });
    environment_.happenings.After(pause, try_again);
  });
}

// From here on it lies in the worker's inbox: who gives it up now hears of it all the same.
void SimulatedBucket::Answer(JobId job, const std::function<void()>& tell) {
  if (jobs_.erase(job) > 0) worker_.when_awake(tell);
}

bool SimulatedBucket::IsAtWork(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() &&
         std::distance(jobs_.begin(), found) < limits::kCheckpointThreadsMax;
}

void SimulatedBucket::GiveUp(const AttemptRef& ref) {
  std::erase_if(jobs_, [&](const auto& job) { return job.second == ref; });
}

void SimulatedBucket::Drop(const std::string& folder) {
  if (!folder.starts_with(found_.artifacts + "/")) {
    environment_.trace.Fail("a worker removes " + folder + ", which is no copy of its own");
  }
  for (const std::string& file : disk_.List(folder + "/")) disk_.Remove(file);
}

// What is damaged there is told by its SHA-256. Of machines that share a folder each has a copy
// under a name of its own.
Result<CheckpointCopy> SimulatedBucket::Bring(const std::string& path) {
  const SimulatedDisk::FilePtr there = environment_.disk.Find(path + "/state");
  if (there == nullptr) return NotFound(path + " is not there");
  if (environment_.corrupted.contains(path + "/state")) return NotFound(path + " is damaged");
  if (worker_.is_disk_full()) return ResourceExhausted("the disk is full");
  const std::string wanted = found_.artifacts + "/" + TrialAndNameOf(path);
  std::string folder = wanted;
  for (int64_t suffix = 2; disk_.Find(folder + "/state") != nullptr; ++suffix) {
    folder = wanted + "-" + std::to_string(suffix);
  }
  WriteDurably(disk_, folder + "/state", there->cached);
  environment_.corrupted.erase(folder + "/state");
  return CheckpointCopy{folder, there->cached};
}

void RemoveFromBucket(Environment& environment, const std::string& path, KeyedRandom& random) {
  environment.happenings.After(Seconds(random.NextUniform(0, kBucketPauseSecondsMax)),
                               [&environment, path, &random] {
                                 if (environment.is_store_away)
                                   return RemoveFromBucket(environment, path, random);
                                 for (const std::string& file : environment.disk.List(path + "/")) {
                                   environment.disk.Remove(file);
                                   environment.disk.SyncName(file);
                                 }
                               });
}

}  // namespace tune::sim
