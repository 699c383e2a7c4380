// What the network of lanes must do on any Device: called with the processor in the card's place,
// and with a card. A card is made by make().
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/card_network.h"
#include "tests/models/parity.h"

namespace tune::models::cuda {

inline constexpr int kBatch = 6;

inline NetworkOptions SmallOptions(int image_size = 40) {
  NetworkOptions options;
  options.width_mult = 0.35;
  options.image_size = image_size;
  options.class_count = 5;
  options.batch_max = 7;  // More than any batch here.
  return options;
}

inline std::vector<int32_t> Labels(int batch) {
  std::vector<int32_t> labels(static_cast<size_t>(batch));
  for (int i = 0; i < batch; ++i) labels[static_cast<size_t>(i)] = i % 5;
  return labels;
}

inline std::vector<float> Images(int batch, int size, int step) {
  return Draw("images" + std::to_string(step), static_cast<int64_t>(batch) * size * size * 3);
}

template <class Device, class T, class Make>
std::unique_ptr<CardNetwork<Device, T>> OnCard(Make make, const NetworkOptions& options,
                                               uint64_t seed = 1) {
  auto network = CardNetwork<Device, T>::Make(make(), options, seed);
  TUNE_CHECK(network.ok());
  return std::move(*network);
}

inline std::unique_ptr<MobileNetV2> OnCpu(const NetworkOptions& options, uint64_t seed = 1) {
  auto network = MobileNetV2::Create(options, seed);
  TUNE_CHECK(network.ok());
  return std::move(*network);
}

// Weights with which activations are neither all dead nor all at six.
inline void SetLivelyWeights(MobileNetV2& network) {
  std::vector<NamedTensor> tensors = *network.ExportWeights();
  for (NamedTensor& tensor : tensors) {
    if (!tensor.shape.empty()) tensor.data = ParityParameter(tensor, 2);
  }
  TUNE_CHECK(network.ImportWeights(tensors, false).ok());
}

inline double Length(const std::vector<float>& values) {
  double square = 0;
  for (const float value : values) square += static_cast<double>(value) * value;
  return std::sqrt(square);
}

// The largest distance of a tensor from the oracle's, relative to its length. Tensors whose length
// is nothing beside the others' are rounding alone: a shift before a batch norm has no gradient.
inline double Distance(const std::vector<NamedTensor>& oracle,
                       const std::vector<NamedTensor>& got) {
  TUNE_CHECK(oracle.size() == got.size());
  double longest = 0, largest = 0;
  for (const NamedTensor& tensor : oracle) longest = std::max(longest, Length(tensor.data));
  for (size_t i = 0; i < oracle.size(); ++i) {
    TUNE_CHECK(oracle[i].name == got[i].name && oracle[i].data.size() == got[i].data.size());
    std::vector<float> difference(oracle[i].data);
    for (size_t k = 0; k < difference.size(); ++k) difference[k] -= got[i].data[k];
    const double relative = Length(difference) / (Length(oracle[i].data) + 1e-4 * longest);
    if (!(relative <= largest)) largest = relative;  // A NaN is kept.
  }
  return largest;
}

// Of all tensors together, in the 2-norm: where a rounding moves an activation over the edge of its
// ReLU6, which happens, a small tensor's gradient is another one.
inline double DistanceOverAll(const std::vector<NamedTensor>& a,
                              const std::vector<NamedTensor>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a[i].data.size(); ++j) {
      difference += std::pow(a[i].data[j] - b[i].data[j], 2);
      size += std::pow(a[i].data[j], 2);
    }
  }
  return std::sqrt(difference / size);
}

inline bool SameBits(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].data != b[i].data) return false;
  }
  return true;
}

// `rate` makes the learning rates smaller.
inline TrainStepOptions StepOptions(int step, double rate = 1) {
  TrainStepOptions options;
  options.head_lr = 1e-3 * rate;
  options.backbone_lr = 5e-4 * rate;
  options.weight_decay = 0.1;
  options.dropout_probability = 0.3;
  options.dropout_seed = static_cast<uint64_t>(step);
  return options;
}

inline std::vector<double> TrainSteps(MobileNetV2& network, int first, int last, double rate = 1) {
  std::vector<double> losses;
  const int size = network.options().image_size;
  for (int step = first; step < last; ++step) {
    const auto result =
        network.TrainStep(Images(kBatch, size, step), Labels(kBatch), StepOptions(step, rate));
    EXPECT_TRUE(result.ok()) << result.status().message();
    losses.push_back(result.ok() ? result->loss_sum : 0);
  }
  return losses;
}

template <class Device, class T, class Make>
void HasTheGradientsOfTheCpu(Make make, double tolerance) {
  for (const int size : {32, 47, 64}) {
    const auto card = OnCard<Device, T>(make, SmallOptions(size));
    const auto cpu = OnCpu(SmallOptions(size));
    SetLivelyWeights(*card);
    SetLivelyWeights(*cpu);
    const auto images = Images(kBatch, size, 0);
    const auto a = card->TrainStep(images, Labels(kBatch), StepOptions(1));
    const auto b = cpu->TrainStep(images, Labels(kBatch), StepOptions(1));
    ASSERT_TRUE(a.ok()) << a.status().message();
    EXPECT_NEAR(a->loss_sum, b->loss_sum, tolerance * kBatch) << size;
    EXPECT_LT(Distance(*cpu->ExportGradients(), *card->ExportGradients()), tolerance) << size;
  }
}

// A gradient of each kind of layer is the slope of the loss: moved along it by a step, the loss
// changes by the gradient's squared length times the step.
template <class Device, class Make>
void GradientIsTheSlopeOfTheLoss(Make make) {
  for (const char* name :
       {"features.0.0.weight", "features.4.conv.1.0.weight", "features.18.1.bias"}) {
    const auto network = OnCard<Device, float>(make, SmallOptions());
    SetLivelyWeights(*network);
    const std::vector<NamedTensor> weights = *network->ExportWeights();
    TrainStepOptions options;
    options.dropout_probability = 0;
    options.head_lr = options.backbone_lr = 0;
    const auto loss = [&] {
      return network->TrainStep(Images(kBatch, 40, 0), Labels(kBatch), options)->loss_sum / kBatch;
    };
    loss();
    std::vector<float> gradient;
    const std::vector<NamedTensor> gradients = *network->ExportGradients();
    for (const NamedTensor& tensor : gradients) {
      if (tensor.name == name) gradient = tensor.data;
    }
    const double step = 0.01 / (Length(gradient) * Length(gradient));
    const auto loss_at = [&](double distance) {
      std::vector<NamedTensor> moved = weights;
      for (NamedTensor& tensor : moved) {
        for (size_t i = 0; tensor.name == name && i < tensor.data.size(); ++i) {
          tensor.data[i] += static_cast<float>(distance * gradient[i]);
        }
      }
      EXPECT_TRUE(network->ImportWeights(moved, false).ok());
      return loss();
    };
    EXPECT_NEAR((loss_at(step) - loss_at(-step)) / 0.02, 1, 0.03) << name;
  }
}

// The loss over some steps with dropout, Adam and evaluation. Adam makes whole steps of gradients
// that are rounding alone: each step makes the difference tens of times larger, less where the
// learning rates are smaller.
template <class Device, class T, class Make>
void TrainsAsTheCpu(Make make, int steps, double tolerance, double rate = 1) {
  const auto card = OnCard<Device, T>(make, SmallOptions());
  const auto cpu = OnCpu(SmallOptions());
  const std::vector<double> a = TrainSteps(*card, 0, steps, rate);
  const std::vector<double> b = TrainSteps(*cpu, 0, steps, rate);
  for (int i = 0; i < steps; ++i) {
    EXPECT_NEAR(a[static_cast<size_t>(i)], b[static_cast<size_t>(i)], tolerance * kBatch) << i;
  }
  std::vector<float> card_logits(5 * 5), cpu_logits(5 * 5);
  const auto images = Images(5, 40, 99);
  ASSERT_TRUE(card->Evaluate(images, Labels(5), card_logits).ok());
  ASSERT_TRUE(cpu->Evaluate(images, Labels(5), cpu_logits).ok());
  for (size_t i = 0; i < card_logits.size(); ++i) {
    EXPECT_NEAR(card_logits[i], cpu_logits[i], tolerance) << i;
  }
}

// The same bits again, and across a state that is taken out and put into another network.
template <class Device, class T, class Make>
void ResumesBitForBit(Make make) {
  const auto whole = OnCard<Device, T>(make, SmallOptions());
  const auto again = OnCard<Device, T>(make, SmallOptions());
  const auto resumed = OnCard<Device, T>(make, SmallOptions(), /*seed=*/2);
  const std::vector<double> losses = TrainSteps(*whole, 0, 2);
  EXPECT_EQ(losses, TrainSteps(*again, 0, 2));
  ASSERT_TRUE(resumed->ImportWeights(*whole->ExportWeights(), false).ok());
  ASSERT_TRUE(resumed->ImportOptimizer(*whole->ExportOptimizer()).ok());
  EXPECT_EQ(TrainSteps(*whole, 2, 4), TrainSteps(*resumed, 2, 4));
  EXPECT_TRUE(SameBits(*whole->ExportWeights(), *resumed->ExportWeights()));
  EXPECT_TRUE(SameBits(*whole->ExportOptimizer(), *resumed->ExportOptimizer()));
}

// While the backbone is frozen, the head alone moves, as on the CPU.
template <class Device, class Make>
void MovesOnlyTheHeadWhileTheBackboneIsFrozen(Make make) {
  const auto card = OnCard<Device, float>(make, SmallOptions());
  const std::vector<NamedTensor> before = *card->ExportWeights();
  TrainStepOptions options = StepOptions(0);
  options.train_backbone = false;
  ASSERT_TRUE(card->TrainStep(Images(kBatch, 40, 0), Labels(kBatch), options).ok());
  const std::vector<NamedTensor> after = *card->ExportWeights();
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string& name = before[i].name;
    const bool moves = name.starts_with("classifier") || name.find("running") != name.npos ||
                       name.ends_with("num_batches_tracked");
    EXPECT_EQ(before[i].data != after[i].data, moves) << name;
  }
  EXPECT_EQ(card->ExportGradients()->size(), 2u);
}

// Lanes of other weights, step sizes and dropout, one of them not a number: each has the bits that
// it has alone.
template <class Device, class T, class Make>
void EachLaneIsOnItsOwn(Make make, double tolerance) {
  constexpr int kLaneCount = 3;
  const NetworkOptions options = SmallOptions();
  const auto device = make();
  LaneNetwork<Device, T> lanes(*device, options, kLaneCount);
  std::vector<LaneInput> lane_inputs;
  std::vector<ImageInput> inputs;
  std::vector<float> images;
  std::vector<BatchResult> alone;
  std::vector<std::vector<NamedTensor>> gradients;
  for (int lane = 0; lane < kLaneCount; ++lane) {
    const uint64_t seed = static_cast<uint64_t>(lane) + 10;
    TrainStepOptions step = StepOptions(lane);
    step.head_lr = step.backbone_lr = 1e-4 * (lane + 1);
    step.dropout_probability = 0.2 * lane;
    std::vector<float> own = Images(kBatch, 40, lane);
    if (lane == 1) own[100] = std::nanf("");
    const auto single = OnCard<Device, T>(make, options, seed);
    alone.push_back(*single->TrainStep(own, Labels(kBatch), step));
    gradients.push_back(*single->ExportGradients());
    const NetworkState state = InitialState(lanes.architecture(), seed);
    ASSERT_TRUE(lanes.SetState(lane, state).ok());
    lane_inputs.push_back(ToLaneInput(step, state));
    images.insert(images.end(), own.begin(), own.end());
    for (size_t i = 0; i < kBatch; ++i) {
      ImageInput input;
      input.label = Labels(kBatch)[i];
      input.dropout_key = DropoutKey(step.dropout_seed, i);
      inputs.push_back(input);
    }
  }
  lanes.UploadImages(images);
  std::vector<ImageResult> results(inputs.size());
  ASSERT_TRUE(lanes.Train(lane_inputs, inputs, results).ok());
  for (int lane = 0; lane < kLaneCount; ++lane) {
    double loss = 0;
    for (size_t i = 0; i < kBatch; ++i) {
      loss += results[static_cast<size_t>(lane) * kBatch + i].loss;
    }
    const double single = alone[static_cast<size_t>(lane)].loss_sum;
    if (lane == 1) {
      EXPECT_TRUE(std::isnan(loss) && std::isnan(single));
      continue;
    }
    EXPECT_NEAR(loss, single, tolerance * kBatch) << lane;
    const auto got =
        ExportParameters(lanes.architecture(), *lanes.ReadGradients(lane), /*backbone=*/true);
    EXPECT_LE(DistanceOverAll(gradients[static_cast<size_t>(lane)], got), tolerance) << lane;
  }
}

}  // namespace tune::models::cuda
