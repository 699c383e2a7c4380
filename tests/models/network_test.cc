// What a network promises whatever its kernels: names, shapes, determinism, resume, phases,
// refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/models/parity.h"

namespace tune::models {
namespace {

constexpr int kBatch = 6;

NetworkOptions SmallOptions() {
  NetworkOptions options;
  options.width_mult = 0.35;
  options.image_size = 40;
  options.class_count = 5;
  options.batch_max = kBatch;
  return options;
}

std::unique_ptr<MobileNetV2> Make(const NetworkOptions& options, uint64_t seed = 1) {
  auto network = MobileNetV2::Create(options, seed);
  TUNE_CHECK(network.ok());
  return std::move(*network);
}

std::vector<float> Images(int batch, int step = 0) {
  return Draw("images" + std::to_string(step), batch * 40 * 40 * 3);
}

std::vector<int32_t> Labels(int batch) {
  std::vector<int32_t> labels(batch);
  for (int i = 0; i < batch; ++i) labels[i] = i % 5;
  return labels;
}

// Steps first .. last-1, each with its own images and dropout.
std::vector<double> Train(MobileNetV2& network, int first, int last, bool train_backbone = true) {
  std::vector<double> losses;
  for (int step = first; step < last; ++step) {
    TrainStepOptions options;
    options.head_lr = options.backbone_lr = 1e-3;
    options.dropout_seed = step;
    options.train_backbone = train_backbone;
    losses.push_back(network.TrainStep(Images(kBatch, step), Labels(kBatch), options)->loss_sum);
  }
  return losses;
}

std::map<std::string, NamedTensor> ByName(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, NamedTensor> result;
  for (const NamedTensor& tensor : tensors) result[tensor.name] = tensor;
  return result;
}

bool Same(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  return std::ranges::equal(a, b, [](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && x.shape == y.shape && x.data == y.data;
  });
}

TEST(MobileNetV2, HasTorchvisionsTensors) {
  NetworkOptions options = SmallOptions();
  options.width_mult = 1.0;
  const std::vector<NamedTensor> tensors = *Make(options)->ExportWeights();
  ASSERT_EQ(tensors.size(), 52u * 6 + 2);
  EXPECT_EQ(tensors[0].name, "features.0.0.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{32, 3, 3, 3}));
  EXPECT_EQ(tensors[5].name, "features.0.1.num_batches_tracked");
  EXPECT_TRUE(tensors[5].shape.empty());
  EXPECT_EQ(tensors[6].name, "features.1.conv.0.0.weight");
  EXPECT_EQ(tensors[6].shape, (std::vector<int64_t>{32, 1, 3, 3}));
  EXPECT_EQ(tensors[12].name, "features.1.conv.1.weight");
  EXPECT_EQ(tensors[13].name, "features.1.conv.2.weight");
  EXPECT_EQ(tensors.back().name, "classifier.1.bias");
  const auto by_name = ByName(tensors);
  EXPECT_EQ(by_name.at("features.2.conv.0.0.weight").shape, (std::vector<int64_t>{96, 16, 1, 1}));
  EXPECT_EQ(by_name.at("features.17.conv.3.running_var").shape, (std::vector<int64_t>{320}));
  EXPECT_EQ(by_name.at("features.18.0.weight").shape, (std::vector<int64_t>{1280, 320, 1, 1}));
  EXPECT_EQ(by_name.at("classifier.1.weight").shape, (std::vector<int64_t>{5, 1280}));
  // torchvision's mobilenet_v2 of 1000 classes has 3,504,872 parameters; 995 classes fewer have
  // 1281 each fewer.
  int64_t count = 0;
  for (const NamedTensor& tensor : tensors) {
    if (!tensor.name.ends_with("running_mean") && !tensor.name.ends_with("running_var") &&
        !tensor.shape.empty()) {
      count += static_cast<int64_t>(tensor.data.size());
    }
  }
  EXPECT_EQ(count, 3504872 - 995 * 1281);
}

TEST(MobileNetV2, BeginsWithTheSpreadOfTorchvisionsInitialisation) {
  const auto tensors = ByName(*Make(SmallOptions())->ExportWeights());
  const auto deviation = [&](const char* name) {
    double sum = 0;
    for (const float value : tensors.at(name).data) sum += static_cast<double>(value) * value;
    return std::sqrt(sum / static_cast<double>(tensors.at(name).data.size()));
  };
  EXPECT_NEAR(deviation("features.18.0.weight"), std::sqrt(2.0 / 1280), 0.001);
  EXPECT_NEAR(deviation("features.17.conv.1.0.weight"), std::sqrt(2.0 / (336 * 9)), 0.001);
  EXPECT_NEAR(deviation("classifier.1.weight"), 0.01, 0.0005);
  EXPECT_EQ(deviation("classifier.1.bias"), 0);
  EXPECT_EQ(tensors.at("features.0.1.weight").data, std::vector<float>(16, 1.0f));
  EXPECT_EQ(tensors.at("features.0.1.running_var").data, std::vector<float>(16, 1.0f));
  EXPECT_EQ(tensors.at("features.0.1.bias").data, std::vector<float>(16, 0.0f));
}

TEST(MobileNetV2, SeedDecidesTheWeights) {
  EXPECT_TRUE(
      Same(*Make(SmallOptions(), 3)->ExportWeights(), *Make(SmallOptions(), 3)->ExportWeights()));
  EXPECT_FALSE(
      Same(*Make(SmallOptions(), 3)->ExportWeights(), *Make(SmallOptions(), 4)->ExportWeights()));
}

TEST(MobileNetV2, GivesTheSameBitsForTheSameThreads) {
  for (const int threads : {1, 2, 3}) {
    NetworkOptions options = SmallOptions();
    options.threads = threads;
    const auto a = Make(options), b = Make(options);
    EXPECT_EQ(Train(*a, 0, 3), Train(*b, 0, 3));
    EXPECT_TRUE(Same(*a->ExportWeights(), *b->ExportWeights()));
  }
}

TEST(MobileNetV2, HardlyDependsOnTheNumberOfThreads) {
  NetworkOptions options = SmallOptions();
  const double one = Train(*Make(options), 0, 1)[0];
  options.threads = 5;  // More than the images of some parts: a part may be empty.
  EXPECT_NEAR(Train(*Make(options), 0, 1)[0], one, 1e-4);
}

TEST(MobileNetV2, ResumesBitForBit) {
  for (const bool head_first : {false, true}) {
    const auto whole = Make(SmallOptions());
    if (head_first) Train(*whole, 0, 2, false);
    Train(*whole, 2, 5);
    const auto resumed = Make(SmallOptions(), 99);
    ASSERT_TRUE(resumed->ImportWeights(*whole->ExportWeights(), false).ok());
    ASSERT_TRUE(resumed->ImportOptimizer(*whole->ExportOptimizer()).ok());
    EXPECT_EQ(Train(*whole, 5, 8), Train(*resumed, 5, 8));
    EXPECT_TRUE(Same(*whole->ExportWeights(), *resumed->ExportWeights()));
    EXPECT_TRUE(Same(*whole->ExportOptimizer(), *resumed->ExportOptimizer()));
  }
}

TEST(MobileNetV2, LearnsAFewImagesByHeart) {
  const auto network = Make(SmallOptions());
  TrainStepOptions options;
  options.head_lr = options.backbone_lr = 1e-3;
  options.dropout_probability = 0;
  BatchResult result;
  for (int step = 0; step < 30; ++step)
    result = *network->TrainStep(Images(kBatch), Labels(kBatch), options);
  EXPECT_LT(result.loss_sum / kBatch, 0.1);
  EXPECT_EQ(result.correct_count, kBatch);
}

TEST(MobileNetV2, MovesOnlyTheHeadWhileTheBackboneIsFrozen) {
  const auto network = Make(SmallOptions());
  const auto before = ByName(*network->ExportWeights());
  Train(*network, 0, 2, false);
  const std::vector<NamedTensor> after = *network->ExportWeights();
  for (const NamedTensor& tensor : after) {
    const bool moves = tensor.name.starts_with("classifier.") ||
                       tensor.name.find("running_") != std::string::npos ||
                       tensor.name.ends_with("num_batches_tracked");
    EXPECT_EQ(tensor.data != before.at(tensor.name).data, moves) << tensor.name;
  }
  ASSERT_EQ(network->ExportGradients()->size(), 2u);
  EXPECT_EQ((*network->ExportGradients())[0].name, "classifier.1.weight");
  auto optimizer = ByName(*network->ExportOptimizer());
  EXPECT_EQ(optimizer["adam.step/head"].data, std::vector<float>{2});
  EXPECT_EQ(optimizer["adam.step/backbone"].data, std::vector<float>{0});
  Train(*network, 2, 3);
  optimizer = ByName(*network->ExportOptimizer());
  EXPECT_EQ(optimizer["adam.step/head"].data, std::vector<float>{3});
  EXPECT_EQ(optimizer["adam.step/backbone"].data, std::vector<float>{1});
  EXPECT_EQ(network->ExportGradients()->size(), 52u * 3 + 2);
  EXPECT_EQ(ByName(*network->ExportWeights())["features.3.conv.2.num_batches_tracked"].data.size(),
            0u);
  EXPECT_EQ(ByName(*network->ExportWeights())["features.3.conv.3.num_batches_tracked"].data,
            std::vector<float>{3});
}

TEST(MobileNetV2, GradientIsTheSlopeOfTheLoss) {
  // Along the gradient of one tensor, the loss changes by its squared length per unit.
  for (const char* name :
       {"features.0.0.weight", "features.1.conv.0.0.weight", "features.3.conv.0.0.weight",
        "features.4.conv.1.1.weight", "features.9.conv.2.weight", "features.18.1.bias",
        "classifier.1.weight"}) {
    const auto network = Make(SmallOptions());
    auto weights = *network->ExportWeights();
    for (NamedTensor& tensor : weights) {
      if (!tensor.shape.empty()) tensor.data = ParityParameter(tensor, 2);
    }
    TrainStepOptions options;
    options.dropout_probability = 0;
    options.head_lr = options.backbone_lr = 0;
    ASSERT_TRUE(network->ImportWeights(weights, false).ok());
    ASSERT_TRUE(network->TrainStep(Images(kBatch), Labels(kBatch), options).ok());
    const NamedTensor gradient = ByName(*network->ExportGradients()).at(name);
    double squares = 0;
    for (const float value : gradient.data) squares += static_cast<double>(value) * value;
    const double step = 0.01 / squares;  // The loss changes by about a hundredth.
    const auto loss_at = [&](double distance) {
      auto moved = weights;
      for (NamedTensor& tensor : moved) {
        for (size_t i = 0; tensor.name == name && i < tensor.data.size(); ++i) {
          tensor.data[i] += static_cast<float>(distance * gradient.data[i]);
        }
      }
      TUNE_CHECK(network->ImportWeights(moved, false).ok());
      return network->TrainStep(Images(kBatch), Labels(kBatch), options)->loss_sum / kBatch;
    };
    EXPECT_NEAR((loss_at(step) - loss_at(-step)) / 0.02, 1, 0.02) << name;
  }
}

TEST(MobileNetV2, EvaluatesEachImageOnItsOwn) {
  const auto network = Make(SmallOptions());
  Train(*network, 0, 2);
  std::vector<float> all(kBatch * 5), one(5);
  const BatchResult whole = *network->Evaluate(Images(kBatch), Labels(kBatch), all);
  double loss = 0;
  int correct = 0;
  for (int i = 0; i < kBatch; ++i) {
    const std::vector<float> images = Images(kBatch);
    const std::span<const float> image = std::span(images).subspan(i * 4800, 4800);
    const BatchResult single = *network->Evaluate(image, std::span(&Labels(kBatch)[i], 1), one);
    loss += single.loss_sum;
    correct += single.correct_count;
    for (int k = 0; k < 5; ++k) EXPECT_NEAR(one[k], all[i * 5 + k], 1e-5);
  }
  EXPECT_NEAR(loss, whole.loss_sum, 1e-4);
  EXPECT_EQ(correct, whole.correct_count);
}

TEST(MobileNetV2, EvaluationChangesNothing) {
  const auto a = Make(SmallOptions()), b = Make(SmallOptions());
  Train(*a, 0, 1);
  Train(*b, 0, 1);
  ASSERT_TRUE(a->Evaluate(Images(3), Labels(3), {}).ok());
  EXPECT_EQ(Train(*a, 1, 3), Train(*b, 1, 3));
}

TEST(MobileNetV2, TakesABatchSmallerThanItsLargest) {
  NetworkOptions large = SmallOptions();
  large.batch_max = 3 * kBatch;
  EXPECT_EQ(Train(*Make(large), 0, 2), Train(*Make(SmallOptions()), 0, 2));
}

TEST(MobileNetV2, ANotANumberReachesTheLoss) {
  const auto network = Make(SmallOptions());
  std::vector<float> images = Images(kBatch);
  images[100] = std::nanf("");
  EXPECT_TRUE(std::isnan(network->TrainStep(images, Labels(kBatch), {})->loss_sum));
}

TEST(ImportWeights, RefusesWhatDoesNotFitAndChangesNothing) {
  const auto network = Make(SmallOptions());
  const auto before = *network->ExportWeights();
  auto tensors = *Make(SmallOptions(), 2)->ExportWeights();

  auto missing = tensors;
  missing.erase(missing.begin() + 3);
  EXPECT_NE(
      network->ImportWeights(missing, true).message().find("features.0.1.running_mean is missing"),
      std::string::npos);
  auto wrong = tensors;
  wrong[0].shape = {3, 16, 3, 3};
  EXPECT_NE(network->ImportWeights(wrong, true).message().find("(3, 16, 3, 3)"), std::string::npos);
  auto unknown = tensors;
  unknown.push_back({"features.19.0.weight", {1}, {0}});
  EXPECT_NE(
      network->ImportWeights(unknown, false).message().find("features.19.0.weight is unknown"),
      std::string::npos);
  auto twice = tensors;
  twice.push_back(twice.front());
  EXPECT_NE(network->ImportWeights(twice, false).message().find("twice"), std::string::npos);
  EXPECT_TRUE(Same(*network->ExportWeights(), before));
  EXPECT_FALSE(network->ImportOptimizer(tensors).ok());
}

TEST(ImportWeights, KeepsTheHeadWhenItIsOptionalAndOfOtherClasses) {
  NetworkOptions other = SmallOptions();
  other.class_count = 7;
  auto tensors = *Make(other, 2)->ExportWeights();
  const auto network = Make(SmallOptions());
  const auto before = ByName(*network->ExportWeights());
  EXPECT_EQ(network->ImportWeights(tensors, false).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(network->ImportWeights(tensors, true).ok());
  const auto after = ByName(*network->ExportWeights());
  EXPECT_EQ(after.at("classifier.1.weight").data, before.at("classifier.1.weight").data);
  EXPECT_NE(after.at("features.0.0.weight").data, before.at("features.0.0.weight").data);
  tensors.resize(tensors.size() - 2);
  std::reverse(tensors.begin(), tensors.end());
  EXPECT_TRUE(network->ImportWeights(tensors, true).ok());
}

// Files of older PyTorch and of other tools lack these counts.
TEST(ImportWeights, TakesWeightsWithoutBatchCounts) {
  auto tensors = *Make(SmallOptions(), 2)->ExportWeights();
  const auto whole = tensors;
  std::erase_if(tensors, [](const NamedTensor& tensor) {
    return tensor.name.ends_with("num_batches_tracked");
  });
  ASSERT_LT(tensors.size(), whole.size());
  const auto network = Make(SmallOptions());
  const Status imported = network->ImportWeights(tensors, false);
  ASSERT_TRUE(imported.ok()) << imported.message();
  EXPECT_TRUE(Same(*network->ExportWeights(), whole));
}

TEST(MobileNetV2, RefusesOptionsOutOfRangeInOneLine) {
  const auto message = [](auto change) {
    NetworkOptions options = SmallOptions();
    change(options);
    const auto network = MobileNetV2::Create(options, 1);
    return network.ok() ? std::string("accepted") : network.status().message();
  };
  EXPECT_EQ(message([](auto& o) { o.image_size = 31; }), "image_size is 31, expected 32 to 4096");
  EXPECT_NE(message([](auto& o) { o.width_mult = 0; }).find("width_mult"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.width_mult = 0.25; }).find("0.3 to 16"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.class_count = 0; }).find("class_count"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.threads = 0; }).find("threads"), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.batch_max = 0; }).find("batch_max"), std::string::npos);
  EXPECT_EQ(message([](auto& o) { o.batch_max = 65536; }),
            "batch_max is 65536, expected 1 to 65535");
}

TEST(MobileNetV2, WorksAtTheSmallestImageAndWidth) {
  NetworkOptions options = SmallOptions();
  options.image_size = 32;
  options.width_mult = 0.3;
  const auto network = Make(options);
  const std::vector<float> images = Draw("images", 2 * 32 * 32 * 3);
  EXPECT_TRUE(std::isfinite(network->TrainStep(images, Labels(2), {})->loss_sum));
  EXPECT_GT(network->memory_bytes(), 1 << 20);
}

TEST(PlaceDevice, LeavesAWishForOneDeviceAsItIs) {
  for (const DeviceKind wanted : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    const auto placed = PlaceDevice(wanted, Internal("nobody asks"));
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->kind, wanted);
    EXPECT_EQ(placed->note, "");
  }
}

TEST(PlaceDevice, GoesToTheProcessorOnlyWhereThereIsNoCardAndSaysWhich) {
  const auto with_card = PlaceDevice(DeviceKind::kAuto, std::string("NVIDIA H200 (device 0)"));
  ASSERT_TRUE(with_card.ok());
  EXPECT_EQ(with_card->kind, DeviceKind::kCuda);
  EXPECT_EQ(with_card->note, "device auto: computes on NVIDIA H200 (device 0)");
  const auto without = PlaceDevice(DeviceKind::kAuto, FailedPrecondition("no CUDA device"));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->kind, DeviceKind::kCpu);
  EXPECT_EQ(without->note, "device auto: computes on the processor: no CUDA device");
  for (const Status& of_card : {ResourceExhausted("it is full"), Internal("it is sick")}) {
    EXPECT_EQ(PlaceDevice(DeviceKind::kAuto, of_card).status(), of_card);
  }
}

TEST(Network, KnowsWhereItComputesWhenThatWasLeftToIt) {
  NetworkOptions options = SmallOptions();
  options.device = DeviceKind::kAuto;
  EXPECT_NE(Make(options)->options().device, DeviceKind::kAuto);
}

}  // namespace
}  // namespace tune::models
