// Our transform beside torchvision's on the same photographs-like images, with fixed parameters.
// Skipped where torchvision is absent.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/random.h"
#include "models/data/augment.h"
#include "models/data/decode.h"
#include "models/data/resize.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

struct Case {
  std::string file;
  int size;
  std::string operation;
  double value;
  int tolerance;        // Of any channel of any pixel, in grey levels.
  double mean_allowed;  // Of the mean difference.
};

// A smooth scene with edges and noise, as a PPM, which both sides read alike.
std::string Scene(int width, int height) {
  std::string text = "P6\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n";
  KeyedRandom random(9, "scene", static_cast<uint64_t>(width), static_cast<uint64_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool disc = std::hypot(x - width * 0.4, y - height * 0.5) < height * 0.3;
      for (int c = 0; c < 3; ++c) {
        const double wave = 60 * std::sin(0.05 * (c + 1) * x + 0.03 * y * (3 - c));
        const double level = (disc ? 200 - 50 * c : 90 + 30 * c) + wave + random.NextUniform(-9, 9);
        text.push_back(static_cast<char>(std::clamp(level, 0.0, 255.0)));
      }
    }
  }
  return text;
}

std::vector<uint8_t> Ours(const std::string& file, const Case& c) {
  const auto images =
      DecodeImage(std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size()));
  EXPECT_TRUE(images.ok());
  std::vector<uint8_t> square(static_cast<size_t>(c.size) * c.size * 3);
  ResizeAndCrop(images->front(), c.size, square);
  Augmentation a;
  a.flip = c.operation == "flip";
  if (c.operation == "rotate") a.rotation_degrees = c.value;
  if (c.operation == "brightness") a.brightness = c.value;
  if (c.operation == "contrast") a.contrast = c.value;
  if (c.operation == "saturation") a.saturation = c.value;
  if (c.operation == "hue") a.hue = c.value;
  std::vector<uint8_t> out(square.size());
  Augmenter(c.size).Apply(square, a, out);
  return out;
}

TEST(TransformPeer, EqualsTorchvisionOnPilImages) {
  const TempFolder folder;
  WriteText(folder / "wide.ppm", Scene(307, 173));
  WriteText(folder / "tall.ppm", Scene(100, 251));
  WriteText(folder / "small.ppm", Scene(50, 41));  // Enlarged.
  std::vector<Case> cases;
  for (const char* file : {"wide.ppm", "tall.ppm", "small.ppm"}) {
    cases.push_back({file, 96, "resize", 0, 0, 0});
    cases.push_back({file, 64, "resize", 0, 0, 0});
    cases.push_back({file, 224, "resize", 0, 0, 0});
  }
  cases.push_back({"wide.ppm", 96, "flip", 0, 0, 0});
  for (const double degrees : {-15.0, -7.25, 0.5, 12.0}) {
    cases.push_back({"wide.ppm", 96, "rotate", degrees, 0, 0});
  }
  for (const double factor : {0.8, 0.97, 1.05, 1.2}) {
    for (const char* operation : {"brightness", "contrast", "saturation"}) {
      cases.push_back({"wide.ppm", 96, operation, factor, 1, 0.01});
    }
  }
  // A quotient that falls on the border of a hue step may land on its other side: one step is up to
  // six levels.
  for (const double turn : {-0.1, -0.03, 0.05, 0.1}) {
    cases.push_back({"wide.ppm", 96, "hue", turn, 7, 0.02});
  }

  std::string list;
  for (const Case& c : cases) {
    list += c.file + " " + std::to_string(c.size) + " " + c.operation + " " +
            std::to_string(c.value) + "\n";
  }
  WriteText(folder / "cases.txt", list);
  const char* const source = std::getenv("TUNE_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  const std::string command = "/usr/bin/python3 " + std::string(source) +
                              "/tests/models/training/torchvision_transforms.py " + folder.path();
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
    GTEST_SKIP() << "python3-torchvision is not installed";
  }
  ASSERT_EQ(status, 0);

  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const std::vector<uint8_t> ours = Ours(ReadText(folder / c.file), c);
    const std::string theirs = ReadText(folder / (std::to_string(i) + ".rgb"));
    ASSERT_EQ(ours.size(), theirs.size());
    int largest = 0;
    double sum = 0;
    for (size_t k = 0; k < ours.size(); ++k) {
      const int difference = std::abs(ours[k] - static_cast<uint8_t>(theirs[k]));
      largest = std::max(largest, difference);
      sum += difference;
    }
    EXPECT_LE(largest, c.tolerance)
        << c.file << " " << c.size << " " << c.operation << " " << c.value;
    EXPECT_LE(sum / static_cast<double>(ours.size()), c.mean_allowed)
        << c.file << " " << c.size << " " << c.operation << " " << c.value;
  }
}

}  // namespace
}  // namespace tune::models
