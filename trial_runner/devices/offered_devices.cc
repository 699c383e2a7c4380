#include "trial_runner/devices/offered_devices.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/limits.h"

namespace tune {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Null: the entry names none.
const Device* Named(const std::vector<Device>& all, std::string_view entry) {
  int64_t place = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), place);
  if (error == std::errc() && end == entry.data() + entry.size()) {
    const auto found = std::find_if(all.begin(), all.end(), [place](const Device& d) {
      return d.index == place && !IsInstance(d);
    });
    return found == all.end() ? nullptr : &*found;
  }
  const Device* named = nullptr;
  const bool is_uuid = entry.starts_with("GPU-") || entry.starts_with("MIG-");
  if (!is_uuid || entry.size() == 4) return nullptr;
  for (const Device& device : all) {
    if (!device.uuid.starts_with(entry)) continue;
    if (named != nullptr) return nullptr;
    named = &device;
  }
  return named;
}

}  // namespace

std::vector<Device> VisibleDevices(const std::vector<Device>& all, std::string_view list) {
  std::vector<Device> visible;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const Device* const device = Named(all, Trimmed(list.substr(0, end)));
    if (device == nullptr || std::find(visible.begin(), visible.end(), *device) != visible.end()) {
      break;
    }
    visible.push_back(*device);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return visible;
}

Result<std::vector<Device>> OfferedDevices(std::optional<int64_t> wanted,
                                           const std::vector<Device>& visible, bool has_driver) {
  std::vector<Device> offered = visible;
  if (offered.size() > limits::kDevicesPerWorkerMax) offered.resize(limits::kDevicesPerWorkerMax);
  if (!wanted) return offered;
  const auto count_max =
      static_cast<int64_t>(has_driver ? offered.size() : limits::kDevicesPerWorkerMax);
  if (*wanted < 0 || *wanted > count_max) {
    return InvalidArgument("--gpus: read " + std::to_string(*wanted) + ", expected 0 to " +
                           std::to_string(count_max) +
                           (has_driver ? ", the devices that are here" : ""));
  }
  for (int64_t i = static_cast<int64_t>(offered.size()); i < *wanted; ++i) {
    offered.push_back(Device{i, "logical device " + std::to_string(i), 0});
  }
  offered.resize(static_cast<size_t>(*wanted));
  return offered;
}

}  // namespace tune
