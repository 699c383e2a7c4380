#include "trial_runner/worker/package_fetcher.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "core/hash.h"
#include "core/posix/private_folder.h"
#include "trial_runner/package/package_store.h"
#include "trial_runner/package/packed_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

bool CanBeWritten(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return !error && access(folder.c_str(), W_OK | X_OK) == 0;
}

// A sweep's artifacts lie where the tuner has them, for a shared disk; where that path cannot be
// made, they stay on this machine.
std::string ArtifactsHere(const std::string& artifacts, const std::string& cache,
                          const std::string& tuner) {
  if (artifacts.empty() || CanBeWritten(artifacts)) return artifacts;
  return cache + "/artifacts/" + HashToHex(Xxh64(tuner + "\n" + artifacts)) + "/" +
         fs::path(artifacts).filename().string();
}

Result<FoundPlace> Find(const WantedPlace& wanted, const std::string& cache,
                        const std::string& tuner, const PackageDial& dial,
                        const Interruption& interruption, std::vector<FileDescriptor>& held) {
  FoundPlace found;
  found.place.content = wanted.package.sha256;
  found.place.cache = cache;
  const Result<PackageName> seen = NameFolder(wanted.folder, wanted.package.bytes);
  if (seen.ok() && *seen == wanted.package) {
    found.artifacts = wanted.artifacts;
    return found;
  }
  if (cache.empty()) {
    return FailedPrecondition("there is no folder to keep it in: neither HOME nor XDG_CACHE_HOME");
  }
  TUNE_ASSIGN_OR_RETURN(HeldPackage package,
                        PackageStore(cache, interruption).Obtain(wanted.package, dial));
  found.place.folder = std::move(package.folder);
  held.push_back(std::move(package.hold));
  found.artifacts = ArtifactsHere(wanted.artifacts, cache, tuner);
  if (found.artifacts != wanted.artifacts) {
    TUNE_RETURN_IF_ERROR(MakePrivateFolder(cache + "/artifacts"));
  }
  return found;
}

}  // namespace

PackageFetcher::PackageFetcher(PackageDial dial, std::string cache, std::string tuner)
    : dial_(std::move(dial)), cache_(std::move(cache)), tuner_(std::move(tuner)) {}

PackageFetcher::~PackageFetcher() { End(); }

void PackageFetcher::End() {
  if (!thread_.joinable()) return;
  interruption_->Raise();
  thread_.join();
}

void PackageFetcher::Begin(const WantedPlace& wanted, OnFound on_found) {
  End();
  interruption_ = std::make_unique<Interruption>();
  thread_ = std::thread([this, wanted, on_found = std::move(on_found)] {
    Result<FoundPlace> found = Find(wanted, cache_, tuner_, dial_, *interruption_, held_);
    if (!interruption_->IsRaised()) on_found(wanted.package, std::move(found));
  });
}

}  // namespace tune
