// The inputs that tests/models/parity_reference.py gives to torchvision, drawn from the names of
// the tensors, and its answers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/random.h"
#include "models/mobilenet_v2.h"

namespace tune::models {

// Uniform in [-1, 1).
inline std::vector<float> Draw(const std::string& name, int64_t count, double scale = 1,
                               double offset = 0) {
  KeyedRandom random(0, name);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(offset + scale * (2 * random.NextDouble() - 1));
  }
  return values;
}

// The twin of parity_reference.py's parameter().
inline std::vector<float> ParityParameter(const NamedTensor& tensor, double shift) {
  const auto& shape = tensor.shape;
  const int64_t count = static_cast<int64_t>(tensor.data.size());
  const std::string& name = tensor.name;
  if (name.ends_with("running_mean")) return Draw(name, count, 0.1);
  if (name.ends_with("running_var")) return Draw(name, count, 0.2, 1);
  if (shape.size() == 4) {
    return Draw(name, count, std::sqrt(6.0 / static_cast<double>(shape[0] * shape[2] * shape[3])));
  }
  if (shape.size() == 2) return Draw(name, count, 0.05);
  if (name.ends_with(".weight")) return Draw(name, count, 0.2, 1);
  const bool before_relu6 = name.starts_with("features.") && name.ends_with(".1.bias");
  return Draw(name, count, 0.1, before_relu6 ? shift : 0);
}

// Lines of "name value value ...".
class Reference {
 public:
  explicit Reference(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      std::vector<double>& values = values_[line.substr(0, space)];
      const char* at = line.c_str() + space;
      for (char* end = nullptr;; at = end) {
        const double value = std::strtod(at, &end);
        if (end == at) break;
        values.push_back(value);
      }
    }
  }

  bool empty() const { return values_.empty(); }
  const std::vector<double>& operator[](const std::string& name) const { return values_.at(name); }

  // How far a vector is from the values of `name`, and how long those are.
  template <class T>
  double Distance(const std::string& name, const std::vector<T>& other) const {
    const std::vector<double>& values = values_.at(name);
    TUNE_CHECK(values.size() == other.size());
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      sum += (values[i] - other[i]) * (values[i] - other[i]);
    }
    return std::sqrt(sum);
  }
  double Norm(const std::string& name) const {
    return Distance(name, std::vector<double>(values_.at(name).size()));
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

// What a network of ours answers to the same inputs.
struct ParityRun {
  std::vector<float> logits;           // In evaluation, before the first step.
  std::vector<NamedTensor> gradients;  // Of the first step.
  std::vector<double> losses;
};

inline ParityRun RunParity(const Reference& reference, int threads) {
  const std::vector<double>& options = reference["options"];
  NetworkOptions network_options;
  network_options.width_mult = options[0];
  network_options.image_size = static_cast<int>(options[1]);
  network_options.batch_max = static_cast<int>(options[2]);
  network_options.class_count = static_cast<int>(options[3]);
  network_options.threads = threads;
  const double shift = options[4];

  auto network = MobileNetV2::Create(network_options, 1);
  TUNE_CHECK(network.ok());
  std::vector<NamedTensor> tensors = *(*network)->ExportWeights();
  for (NamedTensor& tensor : tensors) {
    if (!tensor.shape.empty()) tensor.data = ParityParameter(tensor, shift);
  }
  TUNE_CHECK((*network)->ImportWeights(tensors, false).ok());

  const int batch = network_options.batch_max;
  const int64_t size = network_options.image_size;
  const std::vector<float> images = Draw("images", batch * size * size * 3);
  std::vector<int32_t> labels(batch);
  for (int i = 0; i < batch; ++i) labels[i] = i % network_options.class_count;

  ParityRun run;
  run.logits.resize(static_cast<size_t>(batch) * network_options.class_count);
  TUNE_CHECK((*network)->Evaluate(images, labels, run.logits).ok());
  TrainStepOptions step;
  step.dropout_probability = 0;
  step.weight_decay = options.size() > 5 ? options[5] : 0;  // Frozen answers know none.
  for (size_t i = 0; i < reference["losses"].size(); ++i) {
    run.losses.push_back((*network)->TrainStep(images, labels, step)->loss_sum / batch);
    if (i == 0) run.gradients = *(*network)->ExportGradients();
  }
  return run;
}

inline double MaxDifference(const std::vector<double>& a, const std::vector<float>& b) {
  TUNE_CHECK(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace tune::models
