#include "trial_runner/worker/package_fetcher.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <utility>

#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/private_folder.h"
#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "trial_runner/package/own_copy.h"
#include "trial_runner/package/package_store.h"
#include "trial_runner/package/packed_folder.h"
#include "trial_runner/package/unpacked_folder.h"
#include "trial_runner/worker/input_fetcher.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kSearchEndPatience(500);

Status NoCache() {
  return FailedPrecondition("there is no folder to keep it in: neither HOME nor XDG_CACHE_HOME");
}

// A file that is written here and asked about there, and removed again.
class Nonce {
 public:
  explicit Nonce(const std::string& folder)
      : text_(HashToHex(DrawEntropy()) + HashToHex(DrawEntropy())),
        path_(folder + "/" + NonceFile(text_)) {
    std::error_code error;
    is_written_ = fs::is_directory(folder, error) && WriteFileSynced(path_, text_).ok();
  }
  ~Nonce() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  bool is_written() const { return is_written_; }
  const std::string& text() const { return text_; }

 private:
  const std::string text_;
  const std::string path_;
  bool is_written_ = false;
};

class PlaceSearch {
 public:
  PlaceSearch(ExperimentId sweep, const WantedPlace& wanted, const PackageFetcher::Means& means,
              const Interruption& interruption, std::stop_token stop)
      : sweep_(sweep),
        wanted_(wanted),
        means_(means),
        interruption_(interruption),
        stop_(std::move(stop)) {}

  Result<FoundPlace> Run(std::vector<FileDescriptor>& held) {
    found_.place.content = wanted_.package.sha256;
    found_.place.cache = means_.cache;
    // The tuner's own folder is there.
    const bool is_there = wanted_.is_here && !wanted_.is_elsewhere;
    if (!wanted_.package.sha256.empty() && !is_there) TUNE_RETURN_IF_ERROR(FindFolder(held));
    TUNE_RETURN_IF_ERROR(FindArtifacts());
    if (wanted_.inputs.empty()) return found_;
    if (means_.cache.empty()) return NoCache();
    const auto tell = [this](std::string why) {
      if (means_.on_wait) means_.on_wait(sweep_, std::move(why));
    };
    TUNE_ASSIGN_OR_RETURN(FetchedInputs fetched,
                          FetchInputs(wanted_.inputs, means_.cache, held, tell, stop_));
    found_.place.inputs = std::move(fetched.folder);
    found_.data = std::move(fetched.seen);
    return found_;
  }

 private:
  Status FindFolder(std::vector<FileDescriptor>& held) {
    // Of somebody elsewhere nobody has the folder, whatever is at its path here.
    if (!wanted_.is_elsewhere) {
      const Result<PackageName> seen = NameFolder(wanted_.folder, wanted_.package.bytes);
      if (seen.ok() && *seen == wanted_.package) return OkStatus();
      // Whatever was changed there since: what programs leave there is the tuner's too.
      TUNE_ASSIGN_OR_RETURN(const bool is_shared,
                            IsShared(wanted_.folder, /*is_of_programs=*/true));
      if (is_shared) return OkStatus();
    }
    if (means_.cache.empty()) return NoCache();
    TUNE_ASSIGN_OR_RETURN(
        HeldPackage package,
        PackageStore(means_.cache, interruption_).Obtain(wanted_.package, means_.dial));
    // It is a copy of the folder that was packed, and has what programs have left there since.
    std::error_code error;
    if (!wanted_.is_elsewhere && fs::is_directory(wanted_.folder, error) &&
        HasAllOf(package.folder, wanted_.folder, wanted_.package)) {
      return OkStatus();
    }
    // Of somebody elsewhere: no other sweep's programs find what his leave beside their code.
    if (wanted_.is_elsewhere) {
      TUNE_ASSIGN_OR_RETURN(package,
                            ObtainOwnCopy(means_.cache, wanted_.package, package, wanted_.whose));
    }
    found_.place.folder = std::move(package.folder);
    held.push_back(std::move(package.hold));
    return OkStatus();
  }

  // A sweep's artifacts lie where the tuner has them, if the tuner sees what is written there;
  // else they lie on this machine, and the tuner has its checkpoints sent.
  Status FindArtifacts() {
    found_.artifacts = wanted_.artifacts;
    found_.bucket = wanted_.bucket;
    // The tuner's machine has what the tuner has.
    found_.lends_credentials = wanted_.lends_credentials && !wanted_.is_here;
    if (wanted_.artifacts.empty() || wanted_.is_here) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(const bool is_shared, IsShared(wanted_.artifacts, false));
    if (is_shared) return OkStatus();
    if (means_.cache.empty()) return NoCache();
    found_.storage = CheckpointStorage::kTuner;
    found_.artifacts = means_.cache + "/artifacts/" +
                       HashToHex(Xxh64(means_.tuner + "\n" + wanted_.artifacts)) + "/" +
                       fs::path(wanted_.artifacts).filename().string();
    TUNE_RETURN_IF_ERROR(MakePrivateFolder(means_.cache + "/artifacts"));
    return MakeFolderSynced(found_.artifacts);
  }

  // Whether the tuner sees what is written there.
  Result<bool> IsShared(const std::string& folder, bool is_of_programs) {
    const Nonce nonce(folder);
    if (!nonce.is_written()) return false;
    while (true) {
      if (interruption_.IsRaised()) return Unavailable("the worker needs it no longer");
      const Result<bool> seen =
          means_.checkpoints->Sees({nonce.text(), sweep_, is_of_programs}, stop_);
      if (seen.status().code() != StatusCode::kUnavailable) return seen;
      if (interruption_.Waits(Milliseconds(limits::kReconnectMs))) return seen;
    }
  }

  const ExperimentId sweep_;
  const WantedPlace& wanted_;
  const PackageFetcher::Means& means_;
  const Interruption& interruption_;
  const std::stop_token stop_;
  FoundPlace found_;
};

}  // namespace

// What a search and its thread have in common, which may outlive the fetcher.
struct PackageFetcher::Search {
  Search(ExperimentId of, const WantedPlace& what, const Means& by, OnFound answer)
      : sweep(of), wanted(what), means(by), on_found(std::move(answer)) {
    means.on_wait = [this, tell = by.on_wait](ExperimentId waiting, std::string why) {
      const std::lock_guard lock(mutex);
      if (tell && !is_given_up) tell(waiting, std::move(why));
    };
  }

  void Run() {
    Result<FoundPlace> found =
        PlaceSearch(sweep, wanted, means, interruption, stop.get_token()).Run(held);
    const std::lock_guard lock(mutex);
    if (!is_given_up) on_found(sweep, wanted, std::move(found));
    has_ended = true;
    ended.notify_all();
  }

  const ExperimentId sweep;
  const WantedPlace wanted;
  Means means;
  const OnFound on_found;
  Interruption interruption;         // Of the folder's way,
  std::stop_source stop;             // and of what is asked.
  std::vector<FileDescriptor> held;  // Packages. The thread's.
  std::mutex mutex;
  std::condition_variable ended;
  bool is_given_up = false;
  bool has_ended = false;
};

PackageFetcher::PackageFetcher(Means means) : means_(std::move(means)) {}

PackageFetcher::~PackageFetcher() {
  while (!searches_.empty()) Leave(searches_.begin()->first);
}

// It is not heard any more when this returns.
void PackageFetcher::GiveUp(Search& search) {
  {
    const std::lock_guard lock(search.mutex);
    search.is_given_up = true;
  }
  search.interruption.Raise();
  search.stop.request_stop();
  std::unique_lock lock(search.mutex);
  search.ended.wait_for(lock, kSearchEndPatience, [&search] { return search.has_ended; });
}

void PackageFetcher::Begin(ExperimentId sweep, const WantedPlace& wanted, OnFound on_found) {
  std::vector<std::shared_ptr<Search>>& searches = searches_[sweep];
  if (!searches.empty()) GiveUp(*searches.back());
  const auto search = std::make_shared<Search>(sweep, wanted, means_, std::move(on_found));
  BeginThread([search] { search->Run(); }).detach();
  searches.push_back(search);
}

void PackageFetcher::Leave(ExperimentId sweep) {
  const auto left = searches_.extract(sweep);
  if (!left.empty() && !left.mapped().empty()) GiveUp(*left.mapped().back());
}

}  // namespace tune
