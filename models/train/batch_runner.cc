#include "models/train/batch_runner.h"

#include <algorithm>
#include <vector>

#include "models/cpu/parts.h"
#include "models/data/augment.h"

namespace tune::models {
namespace {

class HostBatchRunner final : public BatchRunner {
 public:
  HostBatchRunner(MobileNetV2& network, const Dataset& dataset)
      : network_(network),
        dataset_(dataset),
        image_floats_(static_cast<size_t>(dataset.image_size) * dataset.image_size * 3),
        augmenters_(static_cast<size_t>(network.options().threads), Augmenter(dataset.image_size)) {
  }

  Result<BatchResult> Run(const BatchStep& step) override {
    return step.trains() ? Train(step) : Evaluate(step);
  }

 private:
  Result<BatchResult> Train(const BatchStep& step) {
    images_.resize(step.images.size() * image_floats_);
    labels_.resize(step.images.size());
    const ImageSet& set = dataset_.split(Split::kTraining);
    const int parts = network_.options().threads;
    const auto begin_of = [&](int part) {
      return static_cast<size_t>(
          cpu::PartBegin(static_cast<int64_t>(step.images.size()), part, parts));
    };
    // The draws are keyed by the image, so it does not matter which part makes which.
    cpu::ForParts(parts, [&](int part) {
      for (size_t i = begin_of(part); i < begin_of(part + 1); ++i) {
        const int64_t image = step.images[i];
        augmenters_[static_cast<size_t>(part)].ApplyAndNormalize(
            dataset_.image(Split::kTraining, image),
            DrawAugmentation(step.augmentation, step.epoch, image),
            std::span(images_).subspan(i * image_floats_, image_floats_));
        labels_[i] = set.labels[static_cast<size_t>(image)];
      }
    });
    return network_.TrainStep(images_, labels_, step.options);
  }

  Result<BatchResult> Evaluate(const BatchStep& step) {
    const ImageSet& set = dataset_.split(step.split);
    const size_t first = static_cast<size_t>(step.begin), size = static_cast<size_t>(step.count);
    images_.resize(size * image_floats_);
    Normalize(set.pixels.subspan(first * image_floats_, size * image_floats_), images_);
    return network_.Evaluate(images_, set.labels.subspan(first, size), {});
  }

  MobileNetV2& network_;
  const Dataset& dataset_;
  const size_t image_floats_;
  std::vector<Augmenter> augmenters_;  // One a thread.
  std::vector<float> images_;          // (batch, image_size, image_size, 3)
  std::vector<int32_t> labels_;
};

}  // namespace

std::unique_ptr<BatchRunner> MakeHostBatchRunner(MobileNetV2& network, const Dataset& dataset) {
  return std::make_unique<HostBatchRunner>(network, dataset);
}

void PassTotals::Add(const BatchResult& result, size_t count) {
  loss_sum += result.loss_sum;
  correct_count += result.correct_count;
  image_count += static_cast<int64_t>(count);
}

Score PassTotals::ToScore() const {
  const double count = static_cast<double>(image_count);
  return {loss_sum / count, static_cast<double>(correct_count) / count, image_count};
}

Result<Score> EvaluateSplit(BatchRunner& batches, int64_t image_count, Split split,
                            int batch_size) {
  const auto images_from = [&](int64_t begin) {
    return BatchImages{split, begin, std::min<int64_t>(batch_size, image_count - begin), {}};
  };
  PassTotals pass;
  for (BatchStep step; pass.image_count < image_count;) {
    static_cast<BatchImages&>(step) = images_from(pass.image_count);
    step.next = images_from(step.begin + step.count);
    TUNE_ASSIGN_OR_RETURN(const BatchResult result, batches.Run(step));
    pass.Add(result, static_cast<size_t>(step.count));
  }
  return pass.ToScore();
}

Result<Score> EvaluateSplit(MobileNetV2& network, const Dataset& dataset, Split split,
                            int batch_size) {
  const auto batches = MakeHostBatchRunner(network, dataset);
  return EvaluateSplit(*batches, dataset.split(split).count(), split, batch_size);
}

}  // namespace tune::models
