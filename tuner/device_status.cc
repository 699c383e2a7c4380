#include "tuner/device_status.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/resource_text.h"
#include "core/utf8.h"
#include "core/value.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/placement.h"

namespace tune {
namespace {

Status Unexpected(std::string_view key, const Value* read, const std::string& expected) {
  return InvalidArgument(std::string(key) + ": read " +
                         (read == nullptr ? "nothing" : Shown(*read)) + ", expected " + expected);
}

Status TakeInt(const Value& map, const char* key, int64_t max, int64_t& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr || !value->is_int() || value->AsInt() < 0 || value->AsInt() > max) {
    return Unexpected(key, value, "an integer from 0 to " + std::to_string(max));
  }
  out = value->AsInt();
  return OkStatus();
}

Status TakeText(const Value& map, const char* key, std::string& out) {
  const Value* const value = map.Find(key);
  if (value == nullptr || !value->is_string()) return Unexpected(key, value, "a text");
  out = ToUtf8(value->AsString());
  return OkStatus();
}

Result<DeviceStatus::Slice> ReadSlice(const Value& map) {
  DeviceStatus::Slice slice;
  if (!map.is_map()) return Unexpected("slices", &map, "a map");
  TUNE_RETURN_IF_ERROR(TakeInt(map, "trial", limits::kSamplesMax, slice.trial.value));
  TUNE_RETURN_IF_ERROR(TakeInt(map, "memory_bytes", limits::kDeviceBytesMax, slice.memory_bytes));
  if (map.Find("sweep") != nullptr) TUNE_RETURN_IF_ERROR(TakeText(map, "sweep", slice.sweep));
  const Value* const share = map.Find("gpu");
  const double part = share == nullptr || !share->is_number() ? 0
                      : share->is_int()                       ? static_cast<double>(share->AsInt())
                                                              : share->AsDouble();
  slice.milli = part > 0 && part <= 1 ? std::llround(part * kWholeMilli) : 0;
  if (slice.milli == 0) return Unexpected("gpu", share, "a share up to 1, in thousandths");
  return slice;
}

}  // namespace

std::vector<DeviceStatus> DevicesOf(const LeaseTable& leases,
                                    const std::map<WorkerId, std::string>& names,
                                    const DeviceUseByWorker& use,
                                    const std::map<ExperimentId, std::string>& others) {
  std::vector<DeviceStatus> all;
  for (const WorkerView& view : leases.Views()) {
    const size_t first = all.size();
    for (const Device& device : view.capacity.devices) {
      DeviceStatus& status = all.emplace_back();
      const auto name = names.find(view.worker);
      status.worker = name == names.end() ? "" : name->second;
      status.device = device;
      const auto told = use.find(view.worker);
      if (told == use.end()) continue;
      for (const DeviceUse& one : told->second) {
        if (one.device == device.index) status.used_bytes = one.used_bytes;
      }
    }
    for (const LeaseTable::Lease& lease : leases.RunningOn(view.worker)) {
      for (const DeviceSlice& slice : lease.placement.slices) {
        for (size_t i = first; i < all.size(); ++i) {
          if (all[i].device.index != slice.device) continue;
          const auto other = others.find(lease.ref.sweep);
          all[i].slices.push_back({lease.ref.trial, slice.milli, slice.memory_bytes,
                                   other == others.end() ? "" : other->second});
        }
      }
    }
    for (size_t i = first; i < all.size(); ++i) {
      std::sort(all[i].slices.begin(), all[i].slices.end(), [](const auto& a, const auto& b) {
        return std::tie(a.sweep, a.trial) < std::tie(b.sweep, b.trial);
      });
    }
  }
  return all;
}

Value ToValue(const DeviceStatus& status) {
  Value slices = Value::MakeList();
  for (const DeviceStatus::Slice& slice : status.slices) {
    Value one = Value::MakeMap();
    one.Set("trial", slice.trial.value);
    one.Set("gpu", InWholes(slice.milli));
    one.Set("memory_bytes", slice.memory_bytes);
    if (!slice.sweep.empty()) one.Set("sweep", ToUtf8(slice.sweep));
    slices.AsList().push_back(std::move(one));
  }
  Value object = Value::MakeMap();
  object.Set("worker", ToUtf8(status.worker));
  object.Set("device", status.device.index);
  object.Set("name", ToUtf8(status.device.name));
  object.Set("uuid", ToUtf8(status.device.uuid));
  object.Set("memory_bytes", status.device.memory_bytes);
  object.Set("used_bytes", status.used_bytes ? Value(*status.used_bytes) : Value());
  object.Set("slices", std::move(slices));
  return object;
}

std::string EncodeDeviceStatus(const DeviceStatus& status) { return ToJson(ToValue(status)); }

Result<DeviceStatus> DecodeDeviceStatus(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const Value object, ParseJson(line));
  if (!object.is_map()) return Unexpected("device", &object, "an object");
  DeviceStatus status;
  TUNE_RETURN_IF_ERROR(TakeText(object, "worker", status.worker));
  TUNE_RETURN_IF_ERROR(TakeInt(object, "device", INT64_MAX, status.device.index));
  TUNE_RETURN_IF_ERROR(TakeText(object, "name", status.device.name));
  TUNE_RETURN_IF_ERROR(TakeText(object, "uuid", status.device.uuid));
  TUNE_RETURN_IF_ERROR(
      TakeInt(object, "memory_bytes", limits::kDeviceBytesMax, status.device.memory_bytes));
  if (const Value* const used = object.Find("used_bytes"); used != nullptr && !used->is_null()) {
    TUNE_RETURN_IF_ERROR(
        TakeInt(object, "used_bytes", limits::kDeviceBytesMax, status.used_bytes.emplace()));
  }
  const Value* const slices = object.Find("slices");
  if (slices == nullptr || !slices->is_list()) return Unexpected("slices", slices, "a list");
  for (const Value& entry : slices->AsList()) {
    TUNE_ASSIGN_OR_RETURN(const DeviceStatus::Slice slice, ReadSlice(entry));
    status.slices.push_back(slice);
  }
  return status;
}

std::string DescribeDevice(const DeviceStatus& status) {
  const Device& device = status.device;
  std::string text = status.worker + " " + std::to_string(device.index) + "  " + device.name;
  if (device.memory_bytes > 0) {
    text += ", " + (status.used_bytes ? DescribeMemory(*status.used_bytes) + " of " : "") +
            DescribeMemory(device.memory_bytes) + (status.used_bytes ? " used" : "");
  }
  if (status.slices.empty()) return text + ": free";
  std::string slices;
  for (const DeviceStatus::Slice& slice : status.slices) {
    slices += (slices.empty() ? ": trial " : ", trial ") +
              (slice.sweep.empty() ? "" : slice.sweep + "/") + std::to_string(slice.trial.value) +
              " has " + DescribeShare(slice.milli);
    if (slice.memory_bytes > 0) slices += " (" + DescribeMemory(slice.memory_bytes) + ")";
  }
  return text + slices;
}

}  // namespace tune
