#include "models/data/synthetic.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace tune::models {
namespace {

struct Texture {
  std::array<double, 3> dark;
  std::array<double, 3> light;
  double direction;  // Radians.
  double stripes;    // Across the image.
};

Texture DrawTexture(uint64_t seed, int label, int class_count) {
  KeyedRandom random(seed, "synthetic class", static_cast<uint64_t>(label));
  Texture texture;
  for (size_t c = 0; c < 3; ++c) {
    texture.dark[c] = random.NextUniform(20, 140);
    texture.light[c] = random.NextUniform(90, 230);
  }
  // Even steps keep the directions of any two classes apart; a flip mirrors them, so half a turn is
  // shared.
  texture.direction = std::numbers::pi / 2 * label / class_count;
  texture.stripes = 2 + 2 * static_cast<double>(random.NextBelow(4));
  return texture;
}

void DrawImage(const Texture& texture, int size, KeyedRandom random, uint8_t* out) {
  const double phase = random.NextUniform(0, 2 * std::numbers::pi);
  const double gain = random.NextUniform(0.75, 1.25);
  std::array<double, 3> shift;
  for (double& s : shift) s = random.NextUniform(-35, 35);
  const double frequency = 2 * std::numbers::pi * texture.stripes / size;
  const double per_x = frequency * std::cos(texture.direction);
  const double per_y = frequency * std::sin(texture.direction);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const double mix = 0.5 + 0.5 * std::sin(per_x * x + per_y * y + phase);
      const uint64_t noise = random.NextU64();
      for (size_t c = 0; c < 3; ++c) {
        const double grain = static_cast<double>((noise >> (8 * c)) & 255) / 255 * 80 - 40;
        const double level =
            gain * (texture.dark[c] + mix * (texture.light[c] - texture.dark[c])) + shift[c];
        *out++ = static_cast<uint8_t>(std::clamp(level + grain, 0.0, 255.0));
      }
    }
  }
}

struct Storage {
  std::array<std::vector<uint8_t>, 3> pixels;
  std::array<std::vector<int32_t>, 3> labels;
};

}  // namespace

Dataset MakeSynthetic(const SyntheticOptions& options) {
  TUNE_CHECK(options.image_size > 0 && options.class_count > 1);
  const std::array<int, 3> per_class = {options.training_per_class, options.validation_per_class,
                                        options.evaluation_per_class};
  const size_t image_bytes = static_cast<size_t>(options.image_size) * options.image_size * 3;
  Dataset dataset;
  dataset.image_size = options.image_size;
  std::vector<Texture> textures;
  for (int label = 0; label < options.class_count; ++label) {
    dataset.class_names.push_back("texture " + std::to_string(label));
    textures.push_back(DrawTexture(options.seed, label, options.class_count));
  }
  auto storage = std::make_shared<Storage>();
  for (size_t s = 0; s < 3; ++s) {
    const int count = per_class[s] * options.class_count;
    storage->pixels[s].resize(image_bytes * static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      const int label = i % options.class_count;
      storage->labels[s].push_back(label);
      DrawImage(textures[static_cast<size_t>(label)], options.image_size,
                KeyedRandom(options.seed, "synthetic image", s, static_cast<uint64_t>(i)),
                storage->pixels[s].data() + image_bytes * static_cast<size_t>(i));
    }
    dataset.splits[s] = {storage->pixels[s], storage->labels[s]};
  }
  dataset.storage = std::move(storage);
  return WithHash(std::move(dataset));
}

}  // namespace tune::models
