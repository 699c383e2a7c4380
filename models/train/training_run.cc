#include "models/train/training_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/random.h"

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
    // Where weights and data lie and which device computes, beside whom, matters to nobody; the
    // data itself is compared by its hash.
    if (name == "device" || name == "total_epochs" || name == "patience" || name == "weights" ||
        name == "data" || name == "lanes" || name == "seed") {
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

// Whether the best epoch is tested when a run ends so.
bool IsTested(EndReason end) { return end == EndReason::kAllEpochs || end == EndReason::kPatience; }

bool HasFiniteLosses(const EpochReport& report) {
  return std::isfinite(report.train_loss) && std::isfinite(report.val_loss);
}

}  // namespace

TrainingRun::TrainingRun(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
                         NetworkTensors& tensors, SecondsClock seconds, int threads, int batch_min)
    : options_(options),
      dataset_(std::move(dataset)),
      tensors_(tensors),
      seconds_(std::move(seconds)),
      threads_(threads),
      batch_min_(batch_min) {
  TUNE_CHECK(dataset_->image_size == options_.image_size);
  TUNE_CHECK(options_.batch_size >= batch_min_);
  TUNE_CHECK(dataset_->split(Split::kTraining).count() >= batch_min_);
}

// ---- an epoch: training, validation, and after the last one a test of the best

Status TrainingRun::BeginEpoch(int lanes) {
  TUNE_CHECK(!finished() && !is_in_epoch());
  if (best_epoch_ != 0 && best_epoch_ == static_cast<int>(history_.size())) {
    // Before this epoch moves them.
    TUNE_ASSIGN_OR_RETURN(best_weights_, tensors_.ExportWeights());
  }
  report_ = EpochReport();
  report_.epoch = static_cast<int>(history_.size()) + 1;
  report_.lanes = lanes;
  order_ = Shuffled(report_.epoch);
  started_ = seconds_();
  BeginPass(Pass::kTraining);
  return OkStatus();
}

void TrainingRun::BeginPass(Pass pass) {
  pass_ = pass;
  begin_ = 0;
  step_count_ = 0;
  totals_ = {};
}

int64_t TrainingRun::PassImageCount() const {
  if (pass_ == Pass::kValidation) return dataset_->split(Split::kValidation).count();
  if (pass_ == Pass::kTest) return dataset_->split(Split::kEvaluation).count();
  const int64_t count = static_cast<int64_t>(order_.size());
  const int64_t rest = count % options_.batch_size;
  return rest < batch_min_ ? count - rest : count;
}

BatchImages TrainingRun::ImagesFrom(int64_t begin) const {
  BatchImages images;
  images.begin = begin;
  images.count = std::min<int64_t>(options_.batch_size, PassImageCount() - begin);
  if (pass_ == Pass::kTraining) {
    images.images =
        std::span(order_).subspan(static_cast<size_t>(begin), static_cast<size_t>(images.count));
  } else {
    images.split = pass_ == Pass::kValidation ? Split::kValidation : Split::kEvaluation;
  }
  return images;
}

BatchStep TrainingRun::NextStep() const {
  TUNE_CHECK(is_in_epoch());
  BatchStep step;
  static_cast<BatchImages&>(step) = ImagesFrom(begin_);
  step.next = ImagesFrom(begin_ + step.count);
  if (!step.trains()) return step;
  step.epoch = report_.epoch;
  step.augmentation = {options_.seed, options_.augmentation};
  step.options = StepOptions(report_.epoch);
  step.options.dropout_seed =
      KeyedRandom(options_.seed, "dropout", static_cast<uint64_t>(report_.epoch),
                  static_cast<uint64_t>(step_count_))
          .NextU64();
  return step;
}

Status TrainingRun::Take(const BatchResult& result) {
  const int64_t count = NextStep().count;
  totals_.Add(result, static_cast<size_t>(count));
  begin_ += count;
  ++step_count_;
  // Nothing good comes after a loss that is no number.
  const bool has_diverged = pass_ == Pass::kTraining && !std::isfinite(result.loss_sum);
  return begin_ < PassImageCount() && !has_diverged ? OkStatus() : EndPass();
}

Status TrainingRun::EndPass() {
  switch (pass_) {
    case Pass::kTraining:
      return EndTraining();
    case Pass::kValidation:
      return EndValidation();
    case Pass::kTest:
      return EndTest();
    case Pass::kNone:
      break;
  }
  TUNE_CHECK(false);
}

Status TrainingRun::EndTraining() {
  const Score training = totals_.ToScore();
  const double trained = seconds_();
  report_.train_loss = training.loss;
  report_.train_accuracy = training.accuracy;
  report_.images_per_second =
      trained > started_ ? static_cast<double>(training.image_count) / (trained - started_) : 0;
  BeginPass(Pass::kValidation);
  return OkStatus();
}

Status TrainingRun::EndValidation() {
  const Score validation = totals_.ToScore();
  report_.val_loss = validation.loss;
  report_.val_accuracy = validation.accuracy;
  report_.epoch_seconds = seconds_() - started_;
  NoteBest(report_);
  report_.end = ReasonToEnd(report_);
  if (IsTested(report_.end)) return BeginTestPass();
  history_.push_back(report_);
  pass_ = Pass::kNone;
  return OkStatus();
}

bool TrainingRun::owes_test() const {
  if (is_in_epoch() || history_.empty()) return false;
  return IsTested(history_.back().end) && !history_.back().test_accuracy.has_value();
}

Status TrainingRun::BeginTest() {
  TUNE_CHECK(owes_test());
  report_ = history_.back();
  history_.pop_back();
  return BeginTestPass();
}

Status TrainingRun::BeginTestPass() {
  if (!best_weights_.empty()) {
    TUNE_ASSIGN_OR_RETURN(put_aside_, tensors_.ExportWeights());
    TUNE_RETURN_IF_ERROR(tensors_.ImportWeights(best_weights_, /*head_optional=*/false));
  }
  BeginPass(Pass::kTest);
  return OkStatus();
}

Status TrainingRun::EndTest() {
  const Score test = totals_.ToScore();
  report_.test_loss = test.loss;
  report_.test_accuracy = test.accuracy;
  report_.test_epoch = best_epoch_ == 0 ? report_.epoch : best_epoch_;
  if (!put_aside_.empty()) {
    TUNE_RETURN_IF_ERROR(tensors_.ImportWeights(put_aside_, /*head_optional=*/false));
    put_aside_.clear();
  }
  history_.push_back(report_);
  pass_ = Pass::kNone;
  return OkStatus();
}

TrainStepOptions TrainingRun::StepOptions(int epoch) const {
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
std::vector<int64_t> TrainingRun::Shuffled(int epoch) const {
  std::vector<int64_t> order(static_cast<size_t>(dataset_->split(Split::kTraining).count()));
  std::iota(order.begin(), order.end(), 0);
  KeyedRandom random(options_.seed, "shuffle", static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.NextBelow(i)]);
  return order;
}

// Called after each epoch, before it enters the history.
void TrainingRun::NoteBest(const EpochReport& report) {
  if (!HasFiniteLosses(report)) return;
  const BestEpochRule& rule = options_.best_epoch;
  const Metric value = rule.ValueOf(ToMetrics(report));
  if (!value) return;
  if (best_epoch_ != 0) {
    const EpochReport& best = history_[static_cast<size_t>(best_epoch_ - 1)];
    const Metric best_value = rule.ValueOf(ToMetrics(best));
    if (best_value && !rule.IsBetter(*value, *best_value)) return;
  }
  best_epoch_ = report.epoch;
  best_weights_.clear();
}

// Of the history and then the report, which may be the history's last; the earliest on a tie.
int TrainingRun::EpochOfLowestLoss(const EpochReport& report) const {
  const EpochReport* lowest = &report;
  for (const EpochReport& earlier : history_) {
    if (earlier.val_loss < lowest->val_loss ||
        (earlier.val_loss == lowest->val_loss && earlier.epoch < lowest->epoch)) {
      lowest = &earlier;
    }
  }
  return lowest->epoch;
}

EndReason TrainingRun::ReasonToEnd(const EpochReport& report) const {
  if (!HasFiniteLosses(report)) return EndReason::kDiverged;
  if (report.epoch >= options_.total_epochs) return EndReason::kAllEpochs;
  if (report.epoch - EpochOfLowestLoss(report) >= options_.patience) return EndReason::kPatience;
  return EndReason::kNone;
}

// ---- checkpoints

std::string TrainingRun::ThreadsNote() const {
  // A card's sums do not depend on them.
  const bool is_other = restored_threads_ != 0 && restored_threads_ != threads_;
  if (!is_other || options_.device == DeviceKind::kCuda) return "";
  return "trained with " + std::to_string(restored_threads_) + " threads so far and with " +
         std::to_string(threads_) +
         " from here on: the results differ in rounding from those of one number throughout";
}

Result<std::string> TrainingRun::SaveCheckpoint(const std::string& parent,
                                                const std::string& name) const {
  TUNE_CHECK(!history_.empty());
  CheckpointState state;
  state.options = options_;
  state.class_names = dataset_->class_names;
  state.data_hash = dataset_->hash;
  state.history = history_;
  state.best_epoch = best_epoch_;
  state.threads = threads_;
  TUNE_ASSIGN_OR_RETURN(state.weights, tensors_.ExportWeights());
  TUNE_ASSIGN_OR_RETURN(state.optimizer, tensors_.ExportOptimizer());
  state.best_weights = best_weights_;
  return WriteCheckpoint(parent, name.empty() ? CheckpointName(state.epoch()) : name, state);
}

Status TrainingRun::RestoreCheckpoint(const std::string& folder, CheckpointOf of) {
  TUNE_ASSIGN_OR_RETURN(CheckpointState state, ReadCheckpoint(folder));
  if (const std::string differs = FirstDifference(state.options, options_, of); !differs.empty()) {
    return FailedPrecondition(folder + " was made with another " + differs);
  }
  const bool is_of_these_images =
      state.data_hash == dataset_->hash ||
      (dataset_->hash_with_skipped != 0 && state.data_hash == dataset_->hash_with_skipped);
  if (state.class_names != dataset_->class_names || !is_of_these_images) {
    return FailedPrecondition(folder + " was made on other data");
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> before, tensors_.ExportWeights());
  Status imported = tensors_.ImportWeights(state.weights, /*head_optional=*/false);
  if (imported.ok()) {
    imported = tensors_.ImportOptimizer(state.optimizer);
    if (!imported.ok()) TUNE_CHECK(tensors_.ImportWeights(before, false).ok());
  }
  // What makes the network's shape is the same, and so is the data.
  if (!imported.ok()) return DataLoss(folder + ": " + imported.message());
  restored_threads_ = state.threads;
  history_ = std::move(state.history);
  if (of == CheckpointOf::kThisRun) {
    best_epoch_ = state.best_epoch;
    best_weights_ = std::move(state.best_weights);
    // If the checkpoint's best epoch went by another rule, it competes with the checkpoint's own:
    // there are weights of no other.
    NoteBest(history_.back());
  } else {
    best_epoch_ = 0;
    best_weights_.clear();
  }
  // A run that ended by a limit that has been raised since goes on.
  EpochReport& last = history_.back();
  last.end = ReasonToEnd(last);
  return OkStatus();
}

Status CheckData(const Food11Options& options, const Dataset& dataset, int world_size) {
  if (dataset.image_size != options.image_size) {
    return InvalidArgument("the data has images of " + std::to_string(dataset.image_size) +
                           " pixels, image_size is " + std::to_string(options.image_size));
  }
  if (dataset.split(Split::kTraining).count() < kImagesPerRankMin * world_size) {
    return InvalidArgument("data: training needs at least two images" +
                           std::string(world_size > 1 ? " for each rank" : ""));
  }
  for (const Split split : kSplits) {
    if (dataset.split(split).count() == 0) {
      return InvalidArgument("data: " + std::string(SplitName(split)) + " has no images");
    }
  }
  return OkStatus();
}

}  // namespace tune::models
