#include "models/mobilenet_v2.h"

#include <cmath>
#include <new>
#include <string>

#include "models/cpu/network.h"
#include "models/cuda/network.h"

namespace tune::models {
namespace {

constexpr int kImageSizeMin = 32;
constexpr int kImageSizeMax = 4096;
constexpr int kBatchMax = 65535;  // A card's grid is no higher, and each image has a row there.
constexpr int kClassMax = 1'000'000;
// Below 0.278 the stem and the first block both have 8 channels: that block would be residual, with
// the stem's activated output as its input, which the kernels do not keep.
constexpr double kWidthMin = 0.3;
constexpr double kWidthMax = 16;

Status CheckRange(const char* name, int value, int lo, int hi) {
  if (value >= lo && value <= hi) return OkStatus();
  return InvalidArgument(std::string(name) + " is " + std::to_string(value) + ", expected " +
                         std::to_string(lo) + " to " + std::to_string(hi));
}

}  // namespace

Status CheckNetworkOptions(const NetworkOptions& options) {
  if (!(options.width_mult >= kWidthMin && options.width_mult <= kWidthMax)) {
    return InvalidArgument("width_mult is " + std::to_string(options.width_mult) +
                           ", expected 0.3 to 16");
  }
  TUNE_RETURN_IF_ERROR(CheckRange("image_size", options.image_size, kImageSizeMin, kImageSizeMax));
  TUNE_RETURN_IF_ERROR(CheckRange("class_count", options.class_count, 1, kClassMax));
  TUNE_RETURN_IF_ERROR(CheckRange("batch_max", options.batch_max, 1, kBatchMax));
  TUNE_RETURN_IF_ERROR(CheckRange("threads", options.threads, 1, kThreadsMax));
  return OkStatus();
}

Result<PlacedDevice> PlaceDevice(DeviceKind wanted) {
  return PlaceDevice(wanted, wanted == DeviceKind::kAuto ? cuda::CardName() : std::string());
}

Result<PlacedDevice> PlaceDevice(DeviceKind wanted, const Result<std::string>& card) {
  if (wanted != DeviceKind::kAuto) return PlacedDevice{wanted, ""};
  if (card.ok()) return PlacedDevice{DeviceKind::kCuda, "device auto: computes on " + *card};
  // A card that is full for a moment, or sick, is no reason to compute many times slower.
  if (card.status().code() != StatusCode::kFailedPrecondition) return card.status();
  return PlacedDevice{DeviceKind::kCpu,
                      "device auto: computes on the processor: " + card.status().message()};
}

Result<std::unique_ptr<MobileNetV2>> MobileNetV2::Create(const NetworkOptions& wanted,
                                                         uint64_t seed) {
  TUNE_RETURN_IF_ERROR(CheckNetworkOptions(wanted));
  NetworkOptions options = wanted;
  TUNE_ASSIGN_OR_RETURN(const PlacedDevice placed, PlaceDevice(wanted.device));
  options.device = placed.kind;
  if (options.device == DeviceKind::kCuda) return cuda::CreateNetwork(options, seed);
  try {
    return cpu::CreateNetwork(options, seed);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(
        "no memory for a network of batch " + std::to_string(options.batch_max) + " at " +
        std::to_string(options.image_size) + " pixels; use a smaller batch or image_size");
  }
}

}  // namespace tune::models
