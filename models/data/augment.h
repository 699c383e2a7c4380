// The random part of the training transform, on an 8-bit image that is already resized and cropped,
// and the normalisation. The rules are those of torchvision 0.14 on PIL images, in this order:
// horizontal flip (p 0.5), rotation by -15 to 15 degrees (nearest neighbour, black fill), colour
// jitter (brightness, contrast, saturation, hue, in random order), ImageNet mean and deviation.
// PIL's 8-bit rounding after each step is kept. A run may ask for more or less of all that.
//
// A draw is a function of (seed, epoch, image), so neither order nor threads change it.
// Thread rule: an Augmenter belongs to one thread; the functions are pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace tune::models {

enum class JitterStep : uint8_t { kBrightness, kContrast, kSaturation, kHue };

struct Augmentation {
  bool flip = false;
  double rotation_degrees = 0;  // Counter-clockwise, as in PIL.
  std::array<JitterStep, 4> order = {JitterStep::kBrightness, JitterStep::kContrast,
                                     JitterStep::kSaturation, JitterStep::kHue};
  double brightness = 1;  // Factors; 1 changes nothing.
  double contrast = 1;
  double saturation = 1;
  double hue = 0;  // In turns of the colour circle, -0.5 to 0.5.
};

// What a run's draws are made from.
struct AugmentationOptions {
  uint64_t seed = 0;
  // What angles, factors and hue are multiplied with, below 1 the probability of a flip too; 0
  // leaves images as they are. 0 to kAugmentationMax, where factors reach 0 and the hue goes round.
  double strength = 1;
};
inline constexpr double kAugmentationMax = 5;

// The draw for image number `image` of the training set in epoch `epoch`.
Augmentation DrawAugmentation(const AugmentationOptions& options, int epoch, int64_t image);

class Augmenter {
 public:
  // image_size: height and width in pixels.
  explicit Augmenter(int image_size);

  // image, out: (image_size, image_size, 3), RGB. They may not overlap.
  void Apply(std::span<const uint8_t> image, const Augmentation& augmentation,
             std::span<uint8_t> out);

  // Apply and Normalize in one go. out: (image_size, image_size, 3).
  void ApplyAndNormalize(std::span<const uint8_t> image, const Augmentation& augmentation,
                         std::span<float> out);

 private:
  void Run(std::span<const uint8_t> image, const Augmentation& augmentation);

  int image_size_;
  std::vector<uint8_t> planes_;  // (3, image_size, image_size)
};

// out = (pixels / 255 - mean) / deviation with ImageNet's constants. (..., 3) interleaved RGB.
void Normalize(std::span<const uint8_t> pixels, std::span<float> out);

}  // namespace tune::models
