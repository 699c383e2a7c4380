// A worker's call for a package (Fetch), on a connection of its own, so that reports and heartbeats
// need not wait behind it.
//
// Thread rule: as PackageStream says.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/status.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/package_source.h"

namespace tune {

class PackageChannel final : public PackageStream {
 public:
  PackageChannel(const TunerEndpoint& tuner, const PackageName& package, int64_t offset);
  ~PackageChannel() override;

  Result<std::optional<std::string>> Next() override;

 private:
  class Call;
  std::unique_ptr<Call> call_;
};

}  // namespace tune
