// Who has what of each device, as a living tuner knows it: for `tune status`.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/value.h"
#include "trial_runner/messages.h"

namespace tune {

class LeaseTable;

struct DeviceStatus {
  std::string worker;  // Its name.
  Device device;
  std::optional<int64_t> used_bytes;  // As its worker last told.
  struct Slice {
    TrialNumber trial;
    int64_t milli = 0;
    int64_t memory_bytes = 0;  // Its limit; 0: none is known.
    std::string sweep = {};    // Of another one than was asked about; else empty.
    friend bool operator==(const Slice&, const Slice&) = default;
  };
  std::vector<Slice> slices;  // By trial.
  friend bool operator==(const DeviceStatus&, const DeviceStatus&) = default;
};

// What each worker's heartbeats told last.
using DeviceUseByWorker = std::map<WorkerId, std::vector<DeviceUse>>;

// By worker, then in the order of its devices. `names`: of the workers; `others`: of the sweeps but
// the one that is asked about.
std::vector<DeviceStatus> DevicesOf(const LeaseTable& leases,
                                    const std::map<WorkerId, std::string>& names,
                                    const DeviceUseByWorker& use,
                                    const std::map<ExperimentId, std::string>& others = {});

// One line of JSON, and back: {"worker": "local", "device": 1, "name": "NVIDIA L4", "uuid":
// "GPU-7", "memory_bytes": 24, "used_bytes": 16, "slices": [{"trial": 0, "gpu": 0.5,
// "memory_bytes": 12}]}; a slice of another sweep has its "sweep". used_bytes is null where nothing
// was told.
Value ToValue(const DeviceStatus& status);
std::string EncodeDeviceStatus(const DeviceStatus& status);
Result<DeviceStatus> DecodeDeviceStatus(std::string_view line);

// "local 1  NVIDIA L4, 16 GiB of 24 GiB used: trial 0 has 0.5 (12 GiB)".
std::string DescribeDevice(const DeviceStatus& status);

}  // namespace tune
