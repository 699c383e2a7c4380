#include "tests/sim/simulated_carrier.h"

#include <iterator>
#include <utility>

#include "core/limits.h"

namespace tune::sim {
namespace {

constexpr double kCallSecondsMax = 0.5;
constexpr double kPauseSecondsMax = 2;

std::string TextOf(const SimulatedDisk::FilePtr& file) {
  return file == nullptr ? "" : file->cached;
}

// .../<trial>/<name>.
std::string TrialAndName(const std::string& path) {
  return path.substr(path.rfind('/', path.rfind('/') - 1) + 1);
}

}  // namespace

SimulatedCarrier::SimulatedCarrier(Environment& environment, SimulatedDisk& disk, std::string root,
                                   KeyedRandom random, Worker worker)
    : environment_(environment),
      disk_(disk),
      root_(std::move(root)),
      random_(random),
      worker_(std::move(worker)) {}

void SimulatedCarrier::Keep(const KeepCheckpoint& keep) {
  const JobId job = ++last_job_;
  jobs_.emplace(job, keep.ref);
  const std::string text = TextOf(disk_.Find(keep.folder + "/state"));
  if (text.empty()) {
    environment_.trace.Fail("a worker sends " + keep.folder + ", which it does not have");
  }
  const Call call = [this, job, keep, text](int64_t tuner_life) {
    const std::string name = keep.folder.substr(keep.folder.rfind('/') + 1);
    Result<std::string> path = environment_.depot->Put(tuner_life, keep.ref, name, text);
    if (!path.ok() && path.status().code() == StatusCode::kUnavailable) return path.status();
    Answer(job, [this, keep, text, path] {
      worker_.kept(keep.ref,
                   path.ok() ? Result<KeptCheckpoint>(KeptCheckpoint{*path, {keep.folder, text}})
                             : Result<KeptCheckpoint>(path.status()));
    });
    return OkStatus();
  };
  Try(job, keep.ref, call, [this, job, keep](const Status& status) {
    Answer(job, [this, keep, status] { worker_.kept(keep.ref, status); });
  });
}

void SimulatedCarrier::Obtain(const ObtainCheckpoint& obtain) {
  const JobId job = ++last_job_;
  jobs_.emplace(job, obtain.ref);
  const auto tell = [this, obtain](const Result<CheckpointCopy>& copy) {
    worker_.obtained(obtain.ref, copy);
  };
  if (obtain.path.empty()) return ObtainFilesAlone(job, obtain, tell);
  const std::string here = TextOf(disk_.Find(obtain.copy.folder + "/state"));
  if (!obtain.copy.folder.empty() && here == obtain.copy.sha256) {
    environment_.happenings.After(
        {}, [this, job, tell, obtain] { Answer(job, [tell, obtain] { tell(obtain.copy); }); });
    return;
  }
  const Call call = [this, job, tell, obtain](int64_t tuner_life) {
    const Result<std::string> text = environment_.depot->Get(tuner_life, obtain.path);
    if (!text.ok() && text.status().code() == StatusCode::kUnavailable) return text.status();
    Answer(job, [this, tell, obtain, text] {
      tell(text.ok() ? Write(obtain.path, *text) : Result<CheckpointCopy>(text.status()));
    });
    return OkStatus();
  };
  Try(job, obtain.ref, call,
      [this, job, tell](const Status& status) { Answer(job, [tell, status] { tell(status); }); });
}

// Nobody asks what the files say.
void SimulatedCarrier::ObtainFilesAlone(
    JobId job, const ObtainCheckpoint& obtain,
    const std::function<void(const Result<CheckpointCopy>&)>& tell) {
  const Call call = [this, job, tell](int64_t /*tuner_life*/) {
    Answer(job, [tell] { tell(CheckpointCopy{}); });
    return OkStatus();
  };
  Try(job, obtain.ref, call,
      [this, job, tell](const Status& status) { Answer(job, [tell, status] { tell(status); }); });
}

void SimulatedCarrier::Send(const SendLog& send) {
  const JobId job = ++last_job_;
  jobs_.emplace(job, send.ref);
  const auto tell = [this, job, ref = send.ref](const Status& status) {
    Answer(job, [this, ref, status] { worker_.log_sent(ref, status); });
  };
  const Call call = [tell](int64_t /*tuner_life*/) {
    tell(OkStatus());
    return OkStatus();
  };
  Try(job, send.ref, call, tell);
}

void SimulatedCarrier::Try(JobId job, const AttemptRef& ref, const Call& call,
                           const std::function<void(const Status&)>& refused) {
  const Duration begins = Seconds(random_.NextUniform(0, kCallSecondsMax));
  environment_.happenings.After(begins, [this, job, ref, call, refused] {
    if (!jobs_.contains(job)) return;
    if (!IsAtWork(job)) return TryAgain(job, ref, call, refused);
    const Result<int64_t> life = worker_.is_cut_off()
                                     ? Result<int64_t>(Unavailable("no way to the tuner"))
                                     : environment_.depot->BeginCall(worker_.session(), ref);
    if (!life.ok() && life.status().code() != StatusCode::kUnavailable) {
      return refused(life.status());
    }
    if (!life.ok()) return TryAgain(job, ref, call, refused);
    const Duration takes = Seconds(random_.NextUniform(0, kCallSecondsMax));
    const bool breaks = random_.NextBelow(8) == 0;
    const bool has_arrived = random_.NextBelow(2) == 0;  // Before it broke.
    environment_.happenings.After(takes, [=, this, life = *life] {
      const bool is_waited_for = jobs_.contains(job);
      if (!is_waited_for && !has_arrived) return;
      const bool is_broken = breaks || worker_.is_cut_off();
      if (is_broken && !has_arrived) return TryAgain(job, ref, call, refused);
      const bool is_done = call(life).ok();
      if (is_waited_for && !is_done) TryAgain(job, ref, call, refused);
    });
  });
}

void SimulatedCarrier::TryAgain(JobId job, const AttemptRef& ref, const Call& call,
                                const std::function<void(const Status&)>& refused) {
  environment_.happenings.After(Seconds(random_.NextUniform(0.1, kPauseSecondsMax)),
                                [=, this] { Try(job, ref, call, refused); });
}

// From here on it lies in the worker's inbox: who gives it up now hears of it all the same.
void SimulatedCarrier::Answer(JobId job, const std::function<void()>& tell) {
  if (jobs_.erase(job) > 0) worker_.when_awake(tell);
}

bool SimulatedCarrier::IsAtWork(JobId job) const {
  const auto found = jobs_.find(job);
  return found != jobs_.end() &&
         std::distance(jobs_.begin(), found) < limits::kCheckpointThreadsMax;
}

void SimulatedCarrier::GiveUp(const AttemptRef& ref) {
  std::erase_if(jobs_, [&](const auto& job) { return job.second == ref; });
}

void SimulatedCarrier::Drop(const std::string& folder) {
  if (!folder.starts_with(root_ + "/")) {
    environment_.trace.Fail("a worker removes " + folder + ", which is not its own");
  }
  for (const std::string& file : disk_.List(folder + "/")) disk_.Remove(file);
}

Result<CheckpointCopy> SimulatedCarrier::Write(const std::string& path, const std::string& text) {
  if (is_full_) return ResourceExhausted("the disk is full");
  const std::string folder = root_ + "/" + TrialAndName(path);
  const std::string file = folder + "/state";
  const SimulatedDisk::FilePtr made = disk_.FindOrMake(file);
  SimulatedDisk::Truncate(*made, 0);
  SimulatedDisk::Write(*made, 0, text);
  environment_.corrupted.erase(file);
  if (environment_.corrupted.contains(path + "/state")) environment_.corrupted.insert(file);
  return CheckpointCopy{folder, text};
}

}  // namespace tune::sim
