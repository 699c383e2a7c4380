// A network of the right interface and little sense: softmax regression with Adam over the mean
// colours of a four by four grid, and one "backbone" scale for each input. Deterministic, and fast
// enough for tests of the loop around it.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "models/mobilenet_v2.h"

namespace tune::models {

class FakeNetwork final : public MobileNetV2 {
 public:
  static constexpr int kInputs = 48;

  // What each TrainStep was told, for tests that look.
  struct Step {
    TrainStepOptions options;
    int batch = 0;
    float middle_pixel = 0;  // Of the first image.
  };

  FakeNetwork(const NetworkOptions& options, uint64_t seed) : options_(options) {
    KeyedRandom random(seed, "fake network");
    const size_t classes = static_cast<size_t>(options.class_count);
    AddTensor("classifier.1.weight", {options.class_count, kInputs});
    AddTensor("features.scale", {kInputs});
    weights_[0].data.resize(classes * kInputs);
    for (float& w : weights_[0].data) w = static_cast<float>(0.1 * random.NextNormal());
    weights_[1].data.assign(kInputs, 1.0F);
    for (int i = 0; i < 2; ++i) {
      const NamedTensor& weight = weights_[static_cast<size_t>(i)];
      moments_.push_back({"adam.m/" + weight.name, weight.shape, {}});
      moments_.push_back({"adam.v/" + weight.name, weight.shape, {}});
      moments_[moments_.size() - 2].data.assign(weight.data.size(), 0.0F);
      moments_.back().data.assign(weight.data.size(), 0.0F);
    }
    moments_.push_back({"adam.step/head", {}, {0.0F}});
    moments_.push_back({"adam.step/backbone", {}, {0.0F}});
  }

  const NetworkOptions& options() const override { return options_; }
  int64_t memory_bytes() const override { return 0; }

  Result<BatchResult> TrainStep(std::span<const float> images, std::span<const int32_t> labels,
                                const TrainStepOptions& options) override {
    const int batch = static_cast<int>(labels.size());
    TUNE_CHECK(batch >= 2 && batch <= options_.batch_max);
    steps.push_back({options, batch, images[images.size() / labels.size() / 2]});
    std::vector<float> head_gradient(weights_[0].data.size(), 0.0F);
    std::vector<float> scale_gradient(kInputs, 0.0F);
    // A stand-in for dropout, so that its seed matters: the whole step is scaled.
    KeyedRandom dropout(options.dropout_seed, "dropout");
    const float keep = static_cast<float>(1 - options.dropout_probability * dropout.NextDouble());
    const BatchResult result = Pass(images, labels, {}, [&](int c, int i, float error, float x) {
      head_gradient[static_cast<size_t>(c * kInputs + i)] +=
          keep * error * x * weights_[1].data[static_cast<size_t>(i)];
      scale_gradient[static_cast<size_t>(i)] +=
          error * x * weights_[0].data[static_cast<size_t>(c * kInputs + i)];
    });
    Adam(0, head_gradient, options.head_lr, moments_[4].data[0]);
    if (options.train_backbone) Adam(1, scale_gradient, options.backbone_lr, moments_[5].data[0]);
    if (diverge_after > 0 && static_cast<int>(steps.size()) >= diverge_after) {
      return BatchResult{std::nan(""), 0};
    }
    return result;
  }

  Result<BatchResult> Evaluate(std::span<const float> images, std::span<const int32_t> labels,
                               std::span<float> logits) override {
    return Pass(images, labels, logits, [](int, int, float, float) {});
  }

  Result<std::vector<NamedTensor>> ExportGradients() const override {
    return std::vector<NamedTensor>();
  }
  Result<std::vector<NamedTensor>> ExportWeights() const override { return weights_; }
  Result<std::vector<NamedTensor>> ExportOptimizer() const override { return moments_; }
  Status ImportWeights(std::span<const NamedTensor> tensors, bool) override {
    return Import(tensors, weights_);
  }
  Status ImportOptimizer(std::span<const NamedTensor> tensors) override {
    return Import(tensors, moments_);
  }

  std::vector<Step> steps;
  int diverge_after = 0;  // From this step on the loss is NaN; 0: never.

 private:
  void AddTensor(std::string name, std::vector<int64_t> shape) {
    weights_.push_back({std::move(name), std::move(shape), {}});
  }

  static Status Import(std::span<const NamedTensor> from, std::vector<NamedTensor>& to) {
    if (from.size() != to.size()) return InvalidArgument("another number of tensors");
    for (size_t i = 0; i < to.size(); ++i) {
      if (from[i].name != to[i].name || from[i].shape != to[i].shape) {
        return InvalidArgument("tensor " + from[i].name + " does not fit");
      }
    }
    to.assign(from.begin(), from.end());
    return OkStatus();
  }

  std::array<float, kInputs> Inputs(std::span<const float> image) const {
    std::array<float, kInputs> inputs = {};
    const int size = options_.image_size;
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        for (int c = 0; c < 3; ++c) {
          const int cell = (y * 4 / size) * 4 + x * 4 / size;
          inputs[static_cast<size_t>(cell * 3 + c)] +=
              image[static_cast<size_t>((y * size + x) * 3 + c)];
        }
      }
    }
    for (float& input : inputs) input *= 16.0F / static_cast<float>(size * size);
    return inputs;
  }

  template <typename Visit>
  BatchResult Pass(std::span<const float> images, std::span<const int32_t> labels,
                   std::span<float> logits, Visit visit) const {
    BatchResult result;
    const size_t classes = static_cast<size_t>(options_.class_count);
    const size_t image_floats = images.size() / labels.size();
    for (size_t n = 0; n < labels.size(); ++n) {
      const auto inputs = Inputs(images.subspan(n * image_floats, image_floats));
      std::vector<double> scores(classes, 0.0);
      double largest = -1e300;
      size_t guess = 0;
      for (size_t c = 0; c < classes; ++c) {
        for (size_t i = 0; i < kInputs; ++i) {
          scores[c] += static_cast<double>(weights_[0].data[c * kInputs + i]) *
                       weights_[1].data[i] * inputs[i];
        }
        if (!logits.empty()) logits[n * classes + c] = static_cast<float>(scores[c]);
        if (scores[c] > largest) {
          largest = scores[c];
          guess = c;
        }
      }
      double sum = 0;
      for (const double score : scores) sum += std::exp(score - largest);
      const size_t label = static_cast<size_t>(labels[n]);
      result.loss_sum += std::log(sum) + largest - scores[label];
      result.correct_count += guess == label ? 1 : 0;
      for (size_t c = 0; c < classes; ++c) {
        const double error = std::exp(scores[c] - largest) / sum - (c == label ? 1 : 0);
        for (int i = 0; i < kInputs; ++i) {
          visit(static_cast<int>(c), i,
                static_cast<float>(error / static_cast<double>(labels.size())),
                inputs[static_cast<size_t>(i)]);
        }
      }
    }
    return result;
  }

  void Adam(size_t which, const std::vector<float>& gradient, double lr, float& step) {
    step += 1;
    const double c1 = 1 - std::pow(0.9, step);
    const double c2 = 1 - std::pow(0.999, step);
    std::vector<float>& m = moments_[2 * which].data;
    std::vector<float>& v = moments_[2 * which + 1].data;
    for (size_t i = 0; i < gradient.size(); ++i) {
      m[i] = 0.9F * m[i] + 0.1F * gradient[i];
      v[i] = 0.999F * v[i] + 0.001F * gradient[i] * gradient[i];
      weights_[which].data[i] -=
          static_cast<float>(lr * (m[i] / c1) / (std::sqrt(v[i] / c2) + 1e-8));
    }
  }

  NetworkOptions options_;
  std::vector<NamedTensor> weights_;
  std::vector<NamedTensor> moments_;
};

inline bool SameTensors(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].shape != b[i].shape || a[i].data != b[i].data) return false;
  }
  return true;
}

}  // namespace tune::models
