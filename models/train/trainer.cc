#include "models/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/random.h"
#include "models/cuda/network.h"
#include "models/train/safetensors.h"

namespace tune::models {
namespace {

// The first option that differs and must not, or "".
std::string FirstDifference(const Food11Options& a, const Food11Options& b, CheckpointOf of) {
  if (a.seed != b.seed && of == CheckpointOf::kThisRun) {
    return "seed (" + std::to_string(a.seed) + ", now " + std::to_string(b.seed) + ")";
  }
  const Value before = Food11OptionsToValue(a);
  const Value now = Food11OptionsToValue(b);
  for (const Food11Parameter& parameter : Food11Parameters()) {
    const std::string_view name = parameter.name;
    // Where weights and data lie and which device computes matters to nobody; the data itself is
    // compared by its hash.
    if (name == "device" || name == "total_epochs" || name == "patience" || name == "weights" ||
        name == "data" || name == "seed") {
      continue;
    }
    if (of == CheckpointOf::kOtherOptions && !parameter.is_fixed) continue;
    const Value& value = *before.Find(name);
    const Value& other = *now.Find(name);
    if (other == value) continue;
    return std::string(name) + " (" + ToJson(value) + ", now " + ToJson(other) + ")";
  }
  return "";
}

AugmentationOptions AugmentationOf(const Food11Options& options) {
  return {options.seed, options.augmentation};
}

}  // namespace

Trainer::Trainer(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
                 std::unique_ptr<MobileNetV2> network, SecondsClock seconds,
                 std::unique_ptr<BatchRunner> batches)
    : options_(options),
      dataset_(std::move(dataset)),
      network_(std::move(network)),
      seconds_(std::move(seconds)),
      batches_(batches != nullptr
                   ? std::move(batches)
                   : MakeHostBatchRunner(*network_, *dataset_, AugmentationOf(options))) {
  TUNE_CHECK(dataset_->image_size == options_.image_size);
  TUNE_CHECK(network_->options().image_size == options_.image_size);
  TUNE_CHECK(network_->options().class_count == dataset_->class_count());
  TUNE_CHECK(network_->options().batch_max >= options_.batch_size);
  TUNE_CHECK(dataset_->split(Split::kTraining).count() >= 2);
}

Result<EpochReport> Trainer::RunEpoch() {
  TUNE_CHECK(!finished());
  EpochReport report;
  report.epoch = static_cast<int>(history_.size()) + 1;

  if (best_epoch_ != 0 && best_epoch_ == static_cast<int>(history_.size())) {
    // Before this epoch moves them.
    TUNE_ASSIGN_OR_RETURN(best_weights_, network_->ExportWeights());
  }

  const double start = seconds_();
  TUNE_ASSIGN_OR_RETURN(const Score training, TrainPass(report.epoch));
  const double trained = seconds_();
  report.train_loss = training.loss;
  report.train_accuracy = training.accuracy;
  report.images_per_second =
      trained > start ? static_cast<double>(training.image_count) / (trained - start) : 0;

  TUNE_ASSIGN_OR_RETURN(const Score validation, EvaluatePass(Split::kValidation));
  report.val_loss = validation.loss;
  report.val_accuracy = validation.accuracy;
  report.epoch_seconds = seconds_() - start;

  NoteBest(report);
  report.end = ReasonToEnd(report);
  if (report.end == EndReason::kAllEpochs || report.end == EndReason::kPatience) {
    TUNE_ASSIGN_OR_RETURN(const Score test, EvaluateBest());
    report.test_loss = test.loss;
    report.test_accuracy = test.accuracy;
  }
  history_.push_back(report);
  return report;
}

Result<Score> Trainer::TrainPass(int epoch) {
  const std::vector<int64_t> order = Shuffled(epoch);
  TrainStepOptions step = StepOptions(epoch);
  const size_t batch_size = static_cast<size_t>(options_.batch_size);
  const size_t count = order.size() % batch_size == 1 ? order.size() - 1 : order.size();

  PassTotals pass;
  for (size_t begin = 0, index = 0; begin < count; begin += batch_size, ++index) {
    const auto images = std::span(order).subspan(begin, std::min(batch_size, count - begin));
    step.dropout_seed =
        KeyedRandom(options_.seed, "dropout", static_cast<uint64_t>(epoch), index).NextU64();
    TUNE_ASSIGN_OR_RETURN(const BatchResult result, batches_->Train(epoch, images, step));
    pass.Add(result, images.size());
    if (!std::isfinite(result.loss_sum)) break;  // Nothing good comes after this.
  }
  return pass.ToScore();
}

TrainStepOptions Trainer::StepOptions(int epoch) const {
  TrainStepOptions step;
  step.head_lr = options_.lr;
  step.weight_decay = options_.weight_decay;
  step.dropout_probability = options_.dropout_probability;
  const int joined = epoch - 1 - options_.initial_epochs;  // Epochs since the backbone joined.
  step.train_backbone = joined >= 0;
  if (step.train_backbone) {
    step.backbone_lr = std::min(std::ldexp(options_.fine_tune_lr, joined), options_.lr);
  }
  return step;
}

// Fisher and Yates, keyed by the epoch.
std::vector<int64_t> Trainer::Shuffled(int epoch) const {
  std::vector<int64_t> order(static_cast<size_t>(dataset_->split(Split::kTraining).count()));
  std::iota(order.begin(), order.end(), 0);
  KeyedRandom random(options_.seed, "shuffle", static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.NextBelow(i)]);
  return order;
}

Result<Score> Trainer::EvaluatePass(Split split) {
  return EvaluateSplit(*batches_, dataset_->split(split).count(), split, options_.batch_size);
}

Result<Score> Trainer::EvaluateBest() {
  if (best_weights_.empty()) return EvaluatePass(Split::kEvaluation);
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> current, network_->ExportWeights());
  TUNE_RETURN_IF_ERROR(network_->ImportWeights(best_weights_, /*head_optional=*/false));
  TUNE_ASSIGN_OR_RETURN(const Score score, EvaluatePass(Split::kEvaluation));
  TUNE_RETURN_IF_ERROR(network_->ImportWeights(current, /*head_optional=*/false));
  return score;
}

// Called after each epoch, before it enters the history.
void Trainer::NoteBest(const EpochReport& report) {
  if (!std::isfinite(report.train_loss) || !std::isfinite(report.val_loss)) return;
  if (best_epoch_ != 0 &&
      report.val_loss >= history_[static_cast<size_t>(best_epoch_ - 1)].val_loss) {
    return;
  }
  best_epoch_ = report.epoch;
  best_weights_.clear();
}

EndReason Trainer::ReasonToEnd(const EpochReport& report) const {
  if (!std::isfinite(report.train_loss) || !std::isfinite(report.val_loss)) {
    return EndReason::kDiverged;
  }
  if (report.epoch >= options_.total_epochs) return EndReason::kAllEpochs;
  if (report.epoch - best_epoch_ >= options_.patience) return EndReason::kPatience;
  return EndReason::kNone;
}

Result<std::string> Trainer::SaveCheckpoint(const std::string& parent,
                                            const std::string& name) const {
  TUNE_CHECK(!history_.empty());
  CheckpointState state;
  state.options = options_;
  state.class_names = dataset_->class_names;
  state.data_hash = dataset_->hash;
  state.history = history_;
  state.best_epoch = best_epoch_;
  TUNE_ASSIGN_OR_RETURN(state.weights, network_->ExportWeights());
  TUNE_ASSIGN_OR_RETURN(state.optimizer, network_->ExportOptimizer());
  state.best_weights = best_weights_;
  return WriteCheckpoint(parent, name.empty() ? CheckpointName(state.epoch()) : name, state);
}

Status Trainer::RestoreCheckpoint(const std::string& folder, CheckpointOf of) {
  TUNE_ASSIGN_OR_RETURN(CheckpointState state, ReadCheckpoint(folder));
  if (const std::string differs = FirstDifference(state.options, options_, of); !differs.empty()) {
    return FailedPrecondition(folder + " was made with another " + differs);
  }
  if (state.class_names != dataset_->class_names || state.data_hash != dataset_->hash) {
    return FailedPrecondition(folder + " was made on other data");
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> before, network_->ExportWeights());
  Status imported = network_->ImportWeights(state.weights, /*head_optional=*/false);
  if (imported.ok()) {
    imported = network_->ImportOptimizer(state.optimizer);
    if (!imported.ok()) TUNE_CHECK(network_->ImportWeights(before, false).ok());
  }
  // What makes the network's shape is the same, and so is the data.
  if (!imported.ok()) return DataLoss(folder + ": " + imported.message());
  history_ = std::move(state.history);
  best_epoch_ = state.best_epoch;
  best_weights_ = std::move(state.best_weights);
  // A run that ended by a limit that has been raised since goes on.
  EpochReport& last = history_.back();
  last.end = ReasonToEnd(last);
  return OkStatus();
}

Result<std::unique_ptr<MobileNetV2>> MakeNetwork(const Food11Options& options, int class_count,
                                                 int threads) {
  NetworkOptions network_options;
  network_options.width_mult = options.width_mult;
  network_options.image_size = options.image_size;
  network_options.class_count = class_count;
  network_options.batch_max = options.batch_size;
  network_options.threads = threads;
  network_options.device = options.device;
  network_options.precision = options.precision;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network,
                        MobileNetV2::Create(network_options, options.seed));
  if (!options.weights.empty()) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, ReadSafetensors(options.weights));
    const Status imported = network->ImportWeights(tensors, /*head_optional=*/true);
    if (!imported.ok()) return imported.At(options.weights);
  }
  return network;
}

Result<std::unique_ptr<Trainer>> MakeTrainer(const Food11Options& options,
                                             std::shared_ptr<const Dataset> dataset, int threads,
                                             SecondsClock seconds) {
  if (dataset->image_size != options.image_size) {
    return InvalidArgument("the data has images of " + std::to_string(dataset->image_size) +
                           " pixels, image_size is " + std::to_string(options.image_size));
  }
  if (dataset->split(Split::kTraining).count() < 2) {
    return InvalidArgument("data: training needs at least two images");
  }
  for (const Split split : kSplits) {
    if (dataset->split(split).count() == 0) {
      return InvalidArgument("data: " + std::string(SplitName(split)) + " has no images");
    }
  }
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network,
                        MakeNetwork(options, dataset->class_count(), threads));
  // On a card, the data lies there too.
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<BatchRunner> batches,
                        cuda::MakeBatchRunner(*network, dataset, AugmentationOf(options)));
  return std::make_unique<Trainer>(options, std::move(dataset), std::move(network),
                                   std::move(seconds), std::move(batches));
}

}  // namespace tune::models
