#include "trial_runner/devices/device_environment.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace tune {
namespace {

constexpr char kVisibleVariable[] = "CUDA_VISIBLE_DEVICES";
constexpr char kMpsMemoryVariable[] = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT";
constexpr int64_t kMilliPerPercent = kWholeMilli / 100;
constexpr int64_t kMiB = int64_t{1} << 20;

std::string VisibleName(int64_t index, const std::vector<Device>& devices) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [index](const Device& device) { return device.index == index; });
  const bool is_named = found != devices.end() && !found->uuid.empty();
  return is_named ? found->uuid : std::to_string(index);
}

// "0.125" of 125.
std::string ShareText(int64_t milli) {
  std::string digits = std::to_string(kWholeMilli + milli).substr(1);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

// Null: it is not set.
const std::string* Find(const DeviceEnvironment& environment, std::string_view variable) {
  for (const auto& [name, value] : environment) {
    if (name == variable) return &value;
  }
  return nullptr;
}

}  // namespace

// "=": that name, not all names that begin so.
DeviceEnvironment RankEnvironment(const std::string& interface) {
  const std::string name = interface.empty() ? "lo" : interface;
  DeviceEnvironment environment = {{"NCCL_DEBUG", "WARN"}};
  environment.emplace_back("NCCL_SOCKET_IFNAME", "=" + name);
  environment.emplace_back("GLOO_SOCKET_IFNAME", name);
  if (interface.empty()) environment.emplace_back("NCCL_IB_DISABLE", "1");
  return environment;
}

bool IsHeldByMps(const DeviceEnvironment& environment) {
  return Find(environment, kMpsMemoryVariable) != nullptr;
}

bool SeeTheSame(const DeviceEnvironment& a, const DeviceEnvironment& b) {
  const std::string* const of_a = Find(a, kVisibleVariable);
  const std::string* const of_b = Find(b, kVisibleVariable);
  return of_a == nullptr || of_b == nullptr ? of_a == of_b : *of_a == *of_b;
}

DeviceEnvironment EnvironmentOf(const std::vector<DeviceSlice>& slices,
                                const std::vector<Device>& devices, bool has_mps) {
  DeviceEnvironment environment;
  if (slices.empty()) return environment;
  std::string visible;
  for (const DeviceSlice& slice : slices) {
    visible += (visible.empty() ? "" : ",") + VisibleName(slice.device, devices);
  }
  environment.emplace_back(kVisibleVariable, visible);
  // A share lies on one device alone: the first that it sees.
  const DeviceSlice& share = slices.front();
  if (share.milli >= kWholeMilli) return environment;
  environment.emplace_back("TUNE_GPU_SHARE", ShareText(share.milli));
  if (share.memory_bytes > 0) {
    environment.emplace_back("TUNE_GPU_MEMORY_BYTES", std::to_string(share.memory_bytes));
  }
  if (!has_mps) return environment;
  environment.emplace_back("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                           std::to_string(std::max<int64_t>(1, share.milli / kMilliPerPercent)));
  if (share.memory_bytes >= kMiB) {
    environment.emplace_back(kMpsMemoryVariable,
                             "0=" + std::to_string(share.memory_bytes / kMiB) + "M");
  }
  return environment;
}

}  // namespace tune
