// What a card must make of 8-bit images that lie on it, on any Device: called with the processor in
// the card's place, and with a card.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "models/data/synthetic.h"
#include "tests/models/cuda/network_cases.h"

namespace tune::models::cuda {

// The images that the card makes, against the host's: `levels` of 8 bits apart at most.
template <class Device, class Make>
void ImagesAreThoseOfTheHost(Make make, double levels) {
  constexpr int kImages = 12, kSize = 33;
  const auto device = make();
  std::vector<uint8_t> set(static_cast<size_t>(kImages) * kSize * kSize * 3);
  KeyedRandom random(3, "pixels");
  for (size_t i = 0; i < set.size(); ++i) {  // Smooth, with some noise: colours of all kinds.
    set[i] = static_cast<uint8_t>((i / 97 * 7 + random.NextBelow(60)) & 255);
  }
  auto on_device = device->template New<uint8_t>(static_cast<int64_t>(set.size()));
  device->Upload(set.data(), on_device.size(), on_device.data());
  std::vector<ImageInput> inputs(kImages);
  const size_t floats = kSize * kSize * 3;
  std::vector<float> oracle(kImages * floats), got(oracle.size());
  Augmenter augmenter(kSize);
  for (size_t i = 0; i < kImages; ++i) {
    const size_t source = (i * 5) % kImages;
    Augmentation draw = DrawAugmentation({.seed = 1}, 2, static_cast<int64_t>(i));
    if (i == 0) draw = {};  // Nothing changes.
    if (i == 1) draw.rotation_degrees = 0;
    if (i == 2) draw.hue = 0;
    inputs[i].source = static_cast<int64_t>(source);
    inputs[i].change = ToChange(draw, kSize);
    augmenter.ApplyAndNormalize(std::span(set).subspan(source * floats, floats), draw,
                                std::span(oracle).subspan(i * floats, floats));
  }
  auto device_inputs = device->template New<ImageInput>(kImages);
  auto sums = device->template New<int64_t>(kImages * kImageChunks);
  auto out = device->template New<float>(static_cast<int64_t>(oracle.size()));
  device->Upload(inputs.data(), kImages, device_inputs.data());
  const AugmentImages<ImageInput> images = {
      on_device.data(), device_inputs.data(), kImages, kSize, sums.data(), out.data()};
  device->Launch(SumGrey<ImageInput>{images}, images.LaunchGrid(1));
  device->Launch(ApplyChanges<ImageInput>{images}, images.LaunchGrid(1));
  device->Download(out.data(), out.size(), got.data());
  ASSERT_TRUE(device->Finish().ok()) << device->status().message();
  int unequal = 0;
  for (size_t i = 0; i < oracle.size(); ++i) {
    EXPECT_NEAR(got[i], oracle[i], (levels + 0.01) * PixelScale(static_cast<int>(i % 3))) << i;
    unequal += std::abs(got[i] - oracle[i]) > 0.5 * PixelScale(static_cast<int>(i % 3)) ? 1 : 0;
  }
  EXPECT_LE(unequal, static_cast<int>(oracle.size() / 100));
}

// The card's runner sees the images that the host's sees, to a level of 8 bits here and there.
template <class Device, class Make>
void RunnerSeesTheImagesOfTheHost(Make make) {
  SyntheticOptions synthetic;
  synthetic.image_size = 40;
  synthetic.class_count = 5;
  synthetic.training_per_class = synthetic.validation_per_class = 4;
  const auto dataset = std::make_shared<const Dataset>(MakeSynthetic(synthetic));
  const auto card = OnCard<Device, float>(make, SmallOptions());
  const auto cpu = OnCpu(SmallOptions());
  const auto on_card = CardBatchRunner<Device, float>::Make(*card, dataset);
  ASSERT_TRUE(on_card.ok());
  const auto on_host = MakeHostBatchRunner(*cpu, *dataset);
  const std::vector<int64_t> images = {7, 1, 4, 0, 9};
  for (int epoch = 0; epoch < 2; ++epoch) {
    BatchStep step;
    step.count = static_cast<int64_t>(images.size());
    step.epoch = epoch;
    step.augmentation = {.seed = 5, .strength = 1.5};
    step.images = images;
    step.options = StepOptions(epoch);
    step.options.head_lr = step.options.backbone_lr = 1e-6;  // Adam turns rounding into steps.
    EXPECT_NEAR((*on_card)->Run(step)->loss_sum, on_host->Run(step)->loss_sum, 2e-2) << epoch;
  }
  BatchStep step;
  step.split = Split::kValidation;
  step.begin = 1;
  step.count = 4;
  EXPECT_NEAR((*on_card)->Run(step)->loss_sum, on_host->Run(step)->loss_sum, 2e-2);
}

}  // namespace tune::models::cuda
