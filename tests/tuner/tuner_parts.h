// What stands around a tuner in tests: a clock that is set, and a disk that has everything.
#pragma once

#include <string>

#include "core/clock.h"
#include "tuner/artifact_store.h"

namespace tune::testing {

class SetClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  Instant now{1'000'000'000};
};

class FullShelves final : public ArtifactStore {
 public:
  Status Remove(const std::string& /*path*/) override { return OkStatus(); }
  bool Has(const std::string& /*path*/) const override { return true; }
};

}  // namespace tune::testing
