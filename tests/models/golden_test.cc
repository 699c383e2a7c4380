// Parity with torchvision where no PyTorch is: a small case whose answers are kept in tests/golden.
// Made by
//   tests/models/parity_reference.py --width 0.35 --size 64 --batch 16 --gradients summary
//     --output tests/golden/mobilenet_v2_parity.txt
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/models/parity.h"

namespace tune::models {
namespace {

TEST(MobileNetV2Golden, AgreesWithTorchvision) {
  const char* source_dir = std::getenv("TUNE_SOURCE_DIR");
  ASSERT_NE(source_dir, nullptr);
  const Reference expected(std::string(source_dir) + "/tests/golden/mobilenet_v2_parity.txt");
  ASSERT_FALSE(expected.empty());
  const ParityRun run = RunParity(expected, 1);

  EXPECT_LT(MaxDifference(expected["logits"], run.logits), 1e-4);
  ASSERT_EQ(expected["losses"].size(), run.losses.size());
  EXPECT_NEAR(run.losses.front(), expected["losses"].front(), 1e-4);
  EXPECT_NEAR(run.losses.back() / expected["losses"].back(), 1, 1e-3);

  double total = 0;
  for (const NamedTensor& gradient : run.gradients) {
    total += std::pow(expected["gradient/" + gradient.name][0], 2);
  }
  for (const NamedTensor& gradient : run.gradients) {
    const double norm = expected["gradient/" + gradient.name][0];
    const double projection = expected["gradient/" + gradient.name][1];
    KeyedRandom signs(0, "signs/" + gradient.name);
    double squares = 0, projected = 0;
    for (const float value : gradient.data) {
      squares += static_cast<double>(value) * value;
      projected += 2 * signs.NextDouble() - 1 < 0 ? -value : value;
    }
    // A bias before a batch norm that takes it away again has a gradient of zero but for rounding.
    const double tolerance = 1e-3 * norm + 1e-6 * std::sqrt(total);
    EXPECT_NEAR(std::sqrt(squares), norm, tolerance) << gradient.name;
    EXPECT_NEAR(projected, projection, 3 * tolerance) << gradient.name;
  }
}

}  // namespace
}  // namespace tune::models
