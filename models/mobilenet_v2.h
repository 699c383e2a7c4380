// MobileNetV2 (Sandler et al., CVPR 2018, arXiv 1801.04381) as torchvision builds it, with the
// lab's head Dropout(p) + Linear(1280, classes), and one Adam optimizer (Kingma, Ba 2015) for all
// of it.
//
// The network owns its weights, gradients, Adam moments and scratch memory in whatever layout its
// backend likes; the outside sees torchvision's names, shapes and layouts (OIHW) through
// ExportState and ImportState.
//
// Thread rule: one thread drives a network; the kernels inside use `threads` threads. Two networks
// are independent. Determinism: the same calls with the same arguments and thread count give the
// same bits.
//
// Errors: the CPU has none once a network is made; of a card each call may fail (models/cuda/), and
// afterwards the network answers every call with that error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/gradient_exchange.h"

namespace tune::models {

// Where a network computes. kAuto: on the first card that this process may use, else on the CPU.
enum class DeviceKind { kCpu, kCuda, kAuto };
// In which numbers a card multiplies; weights, Adam and batch-norm statistics are fp32 in both. The
// CPU has fp32 alone.
enum class Precision { kBf16, kFp32 };

struct PlacedDevice {
  DeviceKind kind = DeviceKind::kCpu;  // Never kAuto.
  std::string note;                    // Of kAuto: one line for a log, what it came to; else "".
};
// What a wish comes to on this machine. kAuto takes the CPU only where there is no card; the errors
// of one that fails or is full (models/cuda/network.h) are the answer.
Result<PlacedDevice> PlaceDevice(DeviceKind wanted);
// The same where that is known of the card: its name, or why it cannot be used.
Result<PlacedDevice> PlaceDevice(DeviceKind wanted, const Result<std::string>& card);

inline constexpr int kThreadsMax = 1024;

struct NetworkOptions {
  double width_mult = 1.0;  // 0.3 to 16.
  int image_size = 224;     // Height and width of an input image, in pixels. At least 32.
  int class_count = 11;
  int batch_max = 32;  // The largest batch of TrainStep and Evaluate.
  int threads = 1;
  DeviceKind device = DeviceKind::kCpu;
  Precision precision = Precision::kBf16;
};

// kInvalidArgument, with what was read and what was expected, if there can be no such network.
Status CheckNetworkOptions(const NetworkOptions& options);

// A tensor by its torchvision name ("features.0.0.weight", "features.0.1.running_mean",
// "classifier.1.bias"), or, for an Adam moment, "adam.m/<parameter>" and "adam.v/<parameter>".
// Row-major, torchvision's shape.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;  // Empty: a scalar.
  std::vector<float> data;
};

struct TrainStepOptions {
  bool train_backbone =
      true;  // false: only the head's weights move; batch-norm running statistics still do.
  double head_lr = 1e-4;
  double backbone_lr = 1e-4;  // Unused while train_backbone is false.
  double weight_decay = 0;    // As a share of the step size; see TrainStep.
  double dropout_probability = 0.2;
  uint64_t dropout_seed =
      0;  // Keyed by the caller (seed, trial, epoch, step): the mask is a function of it.
  std::optional<BatchShare> share;  // Of the batch, where several ranks share it.
};

struct BatchResult {
  double loss_sum = 0;    // Sum over the batch of the cross entropy in nats.
  int correct_count = 0;  // Images whose largest logit is their label (the first one on a tie).
};

// A network to who saves it and goes on from it: its weights and its optimizer, by name.
class NetworkTensors {
 public:
  virtual ~NetworkTensors() = default;

  // Parameters and batch-norm statistics (num_batches_tracked included as a scalar), torchvision's
  // order.
  virtual Result<std::vector<NamedTensor>> ExportWeights() const = 0;
  // The same names and shapes, any order. All must be there but num_batches_tracked, which many
  // files lack: such a count keeps its value. With `head_optional`, tensors of the classifier that
  // are missing or of another class count keep theirs too. Fails without having changed anything.
  virtual Status ImportWeights(std::span<const NamedTensor> tensors, bool head_optional) = 0;

  // Adam's moments and step counts ("adam.step/head", "adam.step/backbone" as scalars).
  virtual Result<std::vector<NamedTensor>> ExportOptimizer() const = 0;
  virtual Status ImportOptimizer(std::span<const NamedTensor> tensors) = 0;
};

class MobileNetV2 : public NetworkTensors {
 public:
  // Weights as torchvision's random initialisation would draw them (Kaiming normal fan-out for
  // convolutions, ones and zeros for batch norm, normal(0, 0.01) for the linear layer), each tensor
  // keyed by (seed, its name).
  static Result<std::unique_ptr<MobileNetV2>> Create(const NetworkOptions& options, uint64_t seed);

  // Those of Create, with the device that kAuto came to.
  virtual const NetworkOptions& options() const = 0;
  // What the network holds in memory, all of it from its creation on.
  virtual int64_t memory_bytes() const = 0;

  // One optimizer step in training mode (batch statistics, running statistics updated with momentum
  // 0.1 and the unbiased variance). images: normalised RGB, (batch, image_size, image_size, 3),
  // i.e. NHWC; labels: (batch), 0 .. class_count-1. batch = labels.size(), 2 .. batch_max. Returns
  // loss and hits before the update. Adam has betas 0.9 and 0.999, epsilon 1e-8 and
  // PyTorch's bias correction; what it trains first loses lr * weight_decay of itself, as in
  // torch.optim.AdamW (Loshchilov, Hutter, ICLR 2019, algorithm 2). A backbone parameter that has
  // never been trained has step count 0 of its own, as in PyTorch when its gradients are None.
  // Of a share of a batch: what is returned and batch norm's statistics are the share's, the
  // gradient is that of all ranks' mean loss; where the exchange fails, so does the step, and no
  // weight has moved.
  virtual Result<BatchResult> TrainStep(std::span<const float> images,
                                        std::span<const int32_t> labels,
                                        const TrainStepOptions& options) = 0;

  // Evaluation mode (running statistics, no dropout). Same shapes; batch 1 .. batch_max. If
  // `logits` is not empty it has room for (batch, class_count) and is filled.
  virtual Result<BatchResult> Evaluate(std::span<const float> images,
                                       std::span<const int32_t> labels,
                                       std::span<float> logits) = 0;

  // Gradients of the mean loss over the last TrainStep's batch, torchvision's names, trained
  // parameters only.
  virtual Result<std::vector<NamedTensor>> ExportGradients() const = 0;
};

}  // namespace tune::models
