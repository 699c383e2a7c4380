// The seams between who has a packed folder (the tuner: package/packed_folder.h) and who fetches it
// (a worker of another machine). What lies between is grpc/, in tests a string.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/status.h"
#include "trial_runner/messages.h"

namespace tune {

// Thread rule: any thread, several at once.
class PackageSource {
 public:
  virtual ~PackageSource() = default;
  virtual const PackageName& name() const = 0;
  // At most `bytes_max` bytes from `offset`, at least one unless that is the end.
  virtual Result<std::string> Read(int64_t offset, size_t bytes_max) const = 0;
};

// A package on its way, from some offset to its end. It is given up with the object.
//
// Thread rule: one thread.
class PackageStream {
 public:
  virtual ~PackageStream() = default;
  // The next piece; waits for it, but not long: an empty one says that none has come so far.
  // Nothing: that was the end. kUnavailable: the connection broke, and another stream may go on
  // from there; kNotFound: the tuner has another package by now.
  virtual Result<std::optional<std::string>> Next() = 0;
};

using PackageDial =
    std::function<std::unique_ptr<PackageStream>(const PackageName& name, int64_t offset)>;

}  // namespace tune
