// The folders that came to this machine from others, below a worker's cache:
//
//   packages/<sha256>        what was in the folder; programs run in it, and what they leave stays
//   packages/<sha256>.list   what of it came (unpacked_folder.h): a folder in which that was
//   changed
//                            is fetched again
//   packages/<sha256>.part   its text while it is on its way; whoever fetches it holds a lock on it
//
// Any number of workers may share a cache: one of them fetches, the others wait, each until what
// comes does not grow for a while (the other may be frozen): then it fetches for itself, beside
// it. What was fetched of a package that broke off is kept, and gone on from. Of packages that no
// worker holds the latest used stay (limits::kPackagesKeptMax, counted with those that are held).
//
// Thread rule: one thread an object, and its Interruption from any.
#pragma once

#include <string>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/messages.h"
#include "trial_runner/package_source.h"

namespace tune {

// A wish to end that ends each wait at once.
class Interruption {
 public:
  Interruption();
  void Raise();
  bool IsRaised() const { return Waits(Duration{}); }
  // True: raised within this time.
  bool Waits(Duration patience) const;

 private:
  FileDescriptor event_;
};

// A package's folder, which stays as long as this lives.
struct HeldPackage {
  std::string folder;
  FileDescriptor hold;
};

class PackageStore {
 public:
  // `cache`: made when it is needed. `patience`: with another worker whose fetching does not go on,
  // and with a tuner that says that it has no such package.
  PackageStore(std::string cache, const Interruption& interruption, Duration patience = Seconds(30))
      : folder_(std::move(cache) + "/packages"), interruption_(interruption), patience_(patience) {}

  // The package, fetched if it is not there: whole and durable when it returns. Tries
  // again when the connection breaks, until it is interrupted (kUnavailable). Other errors are one
  // line about this machine (kResourceExhausted: the disk is full), or kDataLoss: what comes is not
  // what was named, or no package; or kNotFound: the tuner does not have it.
  Result<HeldPackage> Obtain(const PackageName& package, const PackageDial& dial) const;

 private:
  // A package's text on its way.
  struct Part {
    std::string path;
    FileDescriptor file;
  };
  Result<std::string> FetchAndUnpack(const PackageName& package, const PackageDial& dial,
                                     const Part& part, bool is_changed) const;
  Result<std::string> Unpack(const PackageName& package, const Part& part) const;
  Status Fetch(const PackageName& package, const PackageDial& dial, const Part& part) const;

  const std::string folder_;
  const Interruption& interruption_;
  const Duration patience_;
};

}  // namespace tune
