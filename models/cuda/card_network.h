// A network of one lane behind the interface of models/mobilenet_v2.h, and the runner of batches
// whose images lie on its card. Both for any Device of lane_network.h, so that they are tested
// without a card too.
//
// Thread rule: one thread drives network and runner. Errors: the device's.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "models/cuda/card_dataset.h"
#include "models/cuda/lane_network.h"
#include "models/train/batch_runner.h"

namespace tune::models::cuda {

// What a lane is told for its next step; its steps so far are those of `state`.
inline LaneInput ToLaneInput(const TrainStepOptions& options, const NetworkState& state) {
  const auto adam = [&](double lr, int64_t steps) {
    const double step = static_cast<double>(steps + 1);
    return AdamInput{static_cast<float>(lr / (1 - std::pow(0.9, step))),
                     static_cast<float>(std::sqrt(1 - std::pow(0.999, step))),
                     static_cast<float>(1 - lr * options.weight_decay)};
  };
  LaneInput lane;
  lane.head = adam(options.head_lr, state.head_steps);
  lane.train_backbone = options.train_backbone ? 1 : 0;
  if (options.train_backbone) lane.backbone = adam(options.backbone_lr, state.backbone_steps);
  const double p = options.dropout_probability;
  lane.dropout_probability = p;
  lane.kept_scale = p < 1 ? static_cast<float>(1 / (1 - p)) : 0.0f;
  return lane;
}

inline void CountStep(const TrainStepOptions& options, NetworkState& state) {
  ++state.head_steps;
  if (options.train_backbone) ++state.backbone_steps;
  for (int64_t& count : state.batch_counts) ++count;
}

inline BatchResult Total(std::span<const ImageResult> results) {
  BatchResult total;
  for (const ImageResult& result : results) {
    total.loss_sum += result.loss;
    total.correct_count += result.is_correct;
  }
  return total;
}

template <class Device, class T>
class CardNetwork final : public MobileNetV2 {
 public:
  // Fails as the device does: kResourceExhausted where its memory is too small.
  static Result<std::unique_ptr<CardNetwork>> Make(std::unique_ptr<Device> device,
                                                   const NetworkOptions& options, uint64_t seed) {
    std::unique_ptr<CardNetwork> network(new CardNetwork(std::move(device), options, seed));
    TUNE_RETURN_IF_ERROR(network->lanes_.status());
    TUNE_RETURN_IF_ERROR(network->lanes_.SetState(0, network->state_));
    return Result<std::unique_ptr<CardNetwork>>(std::move(network));
  }

  Device& device() { return *device_; }
  LaneNetwork<Device, T>& lanes() { return lanes_; }
  const NetworkOptions& options() const override { return options_; }
  int64_t memory_bytes() const override { return lanes_.memory_bytes(); }

  Result<BatchResult> TrainStep(std::span<const float> images, std::span<const int32_t> labels,
                                const TrainStepOptions& options) override {
    CheckBatch(images, labels);
    lanes_.UploadImages(images);
    return TrainUploaded(InputsOf(labels, options.dropout_seed, FirstImage(options)), options);
  }
  // The same on images that already lie in lanes().
  Result<BatchResult> TrainUploaded(const std::vector<ImageInput>& inputs,
                                    const TrainStepOptions& options) {
    const LaneInput lane = ToLaneInput(options, state_);
    std::vector<ImageResult> results(inputs.size());
    TUNE_RETURN_IF_ERROR(lanes_.Train(std::span(&lane, 1), inputs, results, options.share));
    CountStep(options, state_);
    has_gradients_ = true;
    backbone_has_gradients_ = options.train_backbone;
    return Total(results);
  }

  Result<BatchResult> Evaluate(std::span<const float> images, std::span<const int32_t> labels,
                               std::span<float> logits) override {
    CheckBatch(images, labels);
    lanes_.UploadImages(images);
    return EvaluateUploaded(InputsOf(labels, 0, 0), logits);
  }
  Result<BatchResult> EvaluateUploaded(const std::vector<ImageInput>& inputs,
                                       std::span<float> logits) {
    const size_t count = inputs.size() * static_cast<size_t>(options_.class_count);
    TUNE_CHECK(logits.empty() || logits.size() >= count);
    std::vector<ImageResult> results(inputs.size());
    TUNE_RETURN_IF_ERROR(
        lanes_.Evaluate(inputs, results, logits.empty() ? logits : logits.first(count)));
    return Total(results);
  }

  Result<std::vector<NamedTensor>> ExportGradients() const override {
    if (!has_gradients_) return std::vector<NamedTensor>();
    TUNE_ASSIGN_OR_RETURN(const std::vector<float> gradients, lanes_.ReadGradients(0));
    return ExportParameters(lanes_.architecture(), gradients, backbone_has_gradients_);
  }
  Result<std::vector<NamedTensor>> ExportWeights() const override {
    TUNE_RETURN_IF_ERROR(lanes_.ReadState(0, &state_));
    return models::ExportWeights(lanes_.architecture(), state_);
  }
  Status ImportWeights(std::span<const NamedTensor> tensors, bool head_optional) override {
    TUNE_RETURN_IF_ERROR(lanes_.ReadState(0, &state_));
    TUNE_RETURN_IF_ERROR(
        models::ImportWeights(lanes_.architecture(), tensors, head_optional, &state_));
    return lanes_.SetState(0, state_);
  }
  Result<std::vector<NamedTensor>> ExportOptimizer() const override {
    TUNE_RETURN_IF_ERROR(lanes_.ReadState(0, &state_));
    return models::ExportOptimizer(lanes_.architecture(), state_);
  }
  Status ImportOptimizer(std::span<const NamedTensor> tensors) override {
    TUNE_RETURN_IF_ERROR(lanes_.ReadState(0, &state_));
    TUNE_RETURN_IF_ERROR(models::ImportOptimizer(lanes_.architecture(), tensors, &state_));
    return lanes_.SetState(0, state_);
  }

 private:
  CardNetwork(std::unique_ptr<Device> device, const NetworkOptions& options, uint64_t seed)
      : options_(options),
        device_(std::move(device)),
        lanes_(*device_, options, 1),
        state_(InitialState(lanes_.architecture(), seed)) {}

  void CheckBatch(std::span<const float> images, std::span<const int32_t> labels) const {
    const size_t pixels = static_cast<size_t>(options_.image_size) * options_.image_size;
    TUNE_CHECK(!labels.empty() && labels.size() <= static_cast<size_t>(options_.batch_max));
    TUNE_CHECK(images.size() == labels.size() * pixels * 3);
  }

  static std::vector<ImageInput> InputsOf(std::span<const int32_t> labels, uint64_t dropout_seed,
                                          size_t first_image) {
    std::vector<ImageInput> inputs(labels.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].label = labels[i];
      inputs[i].dropout_key = DropoutKey(dropout_seed, first_image + i);
    }
    return inputs;
  }

  const NetworkOptions options_;
  const std::unique_ptr<Device> device_;
  mutable LaneNetwork<Device, T> lanes_;  // Reading waits for the device.
  // Its counts are the network's; its floats are what was last set or read.
  mutable NetworkState state_;
  bool has_gradients_ = false;
  bool backbone_has_gradients_ = false;
};

template <class Device, class T>
class CardBatchRunner final : public BatchRunner {
 public:
  // The network outlives the runner.
  static Result<std::unique_ptr<CardBatchRunner>> Make(CardNetwork<Device, T>& network,
                                                       std::shared_ptr<const Dataset> dataset) {
    std::unique_ptr<CardBatchRunner> runner(new CardBatchRunner(network, std::move(dataset)));
    TUNE_RETURN_IF_ERROR(runner->set_.Place(network.device(), network.options().batch_max));
    return Result<std::unique_ptr<CardBatchRunner>>(std::move(runner));
  }

  Result<BatchResult> Run(const BatchStep& step) override {
    TUNE_ASSIGN_OR_RETURN(const CardImages images, set_.Bring(std::span(&step, 1)));
    network_.lanes().MakeImages(images.set, images.inputs);
    return step.trains() ? network_.TrainUploaded(images.inputs, step.options)
                         : network_.EvaluateUploaded(images.inputs, {});
  }
  std::string Note() const override { return set_.About(); }
  const CardDataset<Device>& set() const { return set_; }

 private:
  CardBatchRunner(CardNetwork<Device, T>& network, std::shared_ptr<const Dataset> dataset)
      : network_(network), set_(std::move(dataset)) {}

  CardNetwork<Device, T>& network_;
  CardDataset<Device> set_;
};

}  // namespace tune::models::cuda
