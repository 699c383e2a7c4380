#include "models/train/batch_runner.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "models/data/augment.h"

namespace tune::models {
namespace {

class HostBatchRunner final : public BatchRunner {
 public:
  HostBatchRunner(MobileNetV2& network, const Dataset& dataset,
                  const AugmentationOptions& augmentation)
      : network_(network),
        dataset_(dataset),
        augmentation_(augmentation),
        image_floats_(static_cast<size_t>(dataset.image_size) * dataset.image_size * 3),
        augmenters_(static_cast<size_t>(network.options().threads), Augmenter(dataset.image_size)) {
  }

  Result<BatchResult> Train(int epoch, std::span<const int64_t> images,
                            const TrainStepOptions& options) override {
    images_.resize(images.size() * image_floats_);
    labels_.resize(images.size());
    const ImageSet& set = dataset_.split(Split::kTraining);
    // The draws are keyed by the image, so it does not matter which thread makes which.
#pragma omp parallel for num_threads(network_.options().threads)
    for (size_t i = 0; i < images.size(); ++i) {
      Augmenter& augmenter = augmenters_[static_cast<size_t>(omp_get_thread_num())];
      augmenter.ApplyAndNormalize(dataset_.image(Split::kTraining, images[i]),
                                  DrawAugmentation(augmentation_, epoch, images[i]),
                                  std::span(images_).subspan(i * image_floats_, image_floats_));
      labels_[i] = set.labels[static_cast<size_t>(images[i])];
    }
    return network_.TrainStep(images_, labels_, options);
  }

  Result<BatchResult> Evaluate(Split split, int64_t begin, int64_t count) override {
    const ImageSet& set = dataset_.split(split);
    const size_t first = static_cast<size_t>(begin), size = static_cast<size_t>(count);
    images_.resize(size * image_floats_);
    Normalize(set.pixels.subspan(first * image_floats_, size * image_floats_), images_);
    return network_.Evaluate(images_, set.labels.subspan(first, size), {});
  }

 private:
  MobileNetV2& network_;
  const Dataset& dataset_;
  const AugmentationOptions augmentation_;
  const size_t image_floats_;
  std::vector<Augmenter> augmenters_;  // One a thread.
  std::vector<float> images_;          // (batch, image_size, image_size, 3)
  std::vector<int32_t> labels_;
};

}  // namespace

std::unique_ptr<BatchRunner> MakeHostBatchRunner(MobileNetV2& network, const Dataset& dataset,
                                                 const AugmentationOptions& augmentation) {
  return std::make_unique<HostBatchRunner>(network, dataset, augmentation);
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
  PassTotals pass;
  for (int64_t begin = 0; begin < image_count; begin += batch_size) {
    const int64_t count = std::min<int64_t>(batch_size, image_count - begin);
    TUNE_ASSIGN_OR_RETURN(const BatchResult result, batches.Evaluate(split, begin, count));
    pass.Add(result, static_cast<size_t>(count));
  }
  return pass.ToScore();
}

Result<Score> EvaluateSplit(MobileNetV2& network, const Dataset& dataset, Split split,
                            int batch_size) {
  const auto batches = MakeHostBatchRunner(network, dataset, {});
  return EvaluateSplit(*batches, dataset.split(split).count(), split, batch_size);
}

}  // namespace tune::models
