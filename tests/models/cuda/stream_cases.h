// A data set that a card has no room for, on any Device: called with the processor in the card's
// place, and with a card. `make(budget)` makes a card whose memory is of a budget.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/cuda/lane_cases.h"

namespace tune::models::cuda {

inline int64_t BytesOfSplit(Split split) {
  return static_cast<int64_t>(LaneData()->split(split).pixels.size());
}
inline int64_t BytesOfData() {
  int64_t bytes = 0;
  for (const Split split : kSplits) bytes += BytesOfSplit(split);
  return bytes;
}
// What streaming takes for so many lanes of LaneOptions.
inline int64_t BytesOfStream(int lanes) {
  return StreamBytes(*LaneData(), int64_t{lanes} * LaneOptions(0).batch_size);
}
// What a device and so many lanes' network take of it.
template <class Device, class T, class Make>
int64_t BytesOfNetwork(Make make, int lanes) {
  const auto budget = std::make_shared<MemoryBudget>();
  const auto device = make(budget);
  const NetworkOptions options = NetworkOptionsOf(LaneOptions(0), LaneData()->class_count(), 1);
  const LaneNetwork<Device, T> network(*device, options, lanes);
  TUNE_CHECK(network.status().ok());
  return budget->taken();
}

// A run alone, on a card of so many bytes, or what came of it.
template <class Device, class T>
struct RunAlone {
  template <class Make>
  RunAlone(Make make, int64_t bytes) : data(LaneData()) {
    const Food11Options options = LaneOptions(1);
    auto network = CardNetwork<Device, T>::Make(make(std::make_shared<MemoryBudget>(bytes)),
                                                NetworkOptionsOf(options, data->class_count(), 1),
                                                options.seed);
    TUNE_CHECK(network.ok());
    auto made = CardBatchRunner<Device, T>::Make(**network, data);
    status = made.status();
    if (!made.ok()) return;
    batches = made->get();
    trainer = std::make_unique<Trainer>(
        options, data, *std::move(network), [] { return 0.0; }, *std::move(made));
  }

  const std::shared_ptr<const Dataset> data;
  Status status;
  CardBatchRunner<Device, T>* batches = nullptr;
  std::unique_ptr<Trainer> trainer;
};

// Twelve images in batches of 5, 5 and 2, then six in batches of 5 and 1.
template <class Device, class T, class Make>
void TheImagesOfAllButAPasssFirstStepAreSentAhead(Make make) {
  RunAlone<Device, T> run(make, BytesOfNetwork<Device, T>(make, 1) + BytesOfStream(1));
  ASSERT_TRUE(run.status.ok()) << run.status.message();
  ASSERT_TRUE(run.trainer->RunEpoch().ok());
  EXPECT_EQ(run.batches->set().stream()->ahead_count(), 2 + 1);
  EXPECT_EQ(run.batches->set().stream()->late_count(), 2);
  ASSERT_TRUE(EvaluateSplit(*run.batches, 6, Split::kEvaluation, /*batch_size=*/2).ok());
  EXPECT_EQ(run.batches->set().stream()->ahead_count(), 2 + 1 + 2);
  EXPECT_EQ(run.batches->set().stream()->late_count(), 3);
}

// Bit for bit: the same kernels read the same images.
template <class Device, class T, class Make>
void ARunWhoseDataStreamsIsAsOneWhoseDataIsThere(Make make) {
  RunAlone<Device, T> streamed(make, BytesOfNetwork<Device, T>(make, 1) + BytesOfStream(1));
  RunAlone<Device, T> there(make, 0);
  ASSERT_TRUE(streamed.status.ok() && there.status.ok());
  ASSERT_NE(streamed.batches->set().stream(), nullptr);
  ASSERT_EQ(there.batches->set().stream(), nullptr);
  while (!there.trainer->finished()) {
    ASSERT_TRUE(there.trainer->RunEpoch().ok());
    ASSERT_TRUE(streamed.trainer->RunEpoch().ok());
    EXPECT_EQ(streamed.trainer->history().back().train_loss,
              there.trainer->history().back().train_loss);
    EXPECT_EQ(streamed.trainer->history().back().val_loss,
              there.trainer->history().back().val_loss);
  }
  EXPECT_EQ(streamed.trainer->history().back().test_loss,
            there.trainer->history().back().test_loss);
  LaneTest::ExpectSameTensors(*streamed.trainer->network().ExportOptimizer(),
                              *there.trainer->network().ExportOptimizer(), "optimizer");
}

// What was sent ahead and what is asked for are all the same, differ, or there is nothing.
template <class Device, class Make>
void ImagesThatWereNotSentAheadAreRightToo(Make make) {
  const auto data = LaneData();
  const auto device = make(std::make_shared<MemoryBudget>());
  ImageStream<Device> stream(*device, data, /*images_max=*/3);
  const StreamedImages a = {Split::kTraining, {4, 0, 11}}, b = {Split::kTraining, {1, 2}},
                       c = {Split::kValidation, {1, 2}}, none;
  const std::vector<std::pair<StreamedImages, StreamedImages>> calls = {
      {a, b}, {c, b}, {b, a}, {a, none}, {a, none}, {b, c}, {b, a}};
  for (const auto& [now, next] : calls) {
    const Result<const uint8_t*> place = stream.Bring(now, next);
    ASSERT_TRUE(place.ok()) << place.status().message();
    for (size_t i = 0; i < now.numbers.size(); ++i) {
      const std::span<const uint8_t> image = data->image(now.split, now.numbers[i]);
      std::vector<uint8_t> got(image.size());
      device->Download(*place + i * image.size(), static_cast<int64_t>(got.size()), got.data());
      ASSERT_TRUE(device->Finish().ok());
      EXPECT_TRUE(std::equal(image.begin(), image.end(), got.begin())) << i;
    }
  }
  EXPECT_EQ(stream.ahead_count(), 2);
  EXPECT_EQ(stream.late_count(), 5);
}

// To the byte.
template <class Device, class T, class Make>
void WhatHasRoomLiesOnTheCardAndTheRestStreams(Make make) {
  const int64_t network = BytesOfNetwork<Device, T>(make, 1);
  const int64_t streaming = network + BytesOfStream(1);
  const auto about = [&make](int64_t bytes) {
    const RunAlone<Device, T> run(make, bytes);
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    return run.status.ok() ? run.batches->Note() : "refused";
  };
  const std::string streams = "there is no room for all images on the device; these stream to it: ";
  EXPECT_EQ(about(network + BytesOfData()), "");
  // 72 KiB of images, 30 KiB to stream: 36 KiB of training have room, of the others 18 KiB each
  // have not.
  EXPECT_EQ(about(network + BytesOfData() - 1), streams + "validation (1 MB), evaluation (1 MB)");
  EXPECT_EQ(about(streaming + BytesOfSplit(Split::kValidation)),
            streams + "training (1 MB), evaluation (1 MB)");
  EXPECT_EQ(about(streaming), streams + "training (1 MB), validation (1 MB), evaluation (1 MB)");

  const RunAlone<Device, T> refused(make, streaming - 1);
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted);
  const int64_t slot = BytesOfStream(1) / 2;
  EXPECT_EQ(refused.status.message().find(std::to_string(slot) + " bytes more were asked for on "),
            0u)
      << refused.status.message();
  EXPECT_NE(
      refused.status.message().find("with " + std::to_string(network + slot) + " of the share's " +
                                    std::to_string(streaming - 1) + " bytes taken"),
      std::string::npos)
      << refused.status.message();
}

}  // namespace tune::models::cuda
