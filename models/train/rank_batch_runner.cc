#include "models/train/rank_batch_runner.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "models/ranks/gradient_buckets.h"

namespace tune::models {
namespace {

bool IsRunningStatistic(const NamedTensor& tensor) {
  return tensor.name.ends_with(".running_mean") || tensor.name.ends_with(".running_var");
}

class RankBatchRunner final : public BatchRunner {
 public:
  RankBatchRunner(std::unique_ptr<BatchRunner> inner, MobileNetV2& network, AllReduce& ranks,
                  std::unique_ptr<GradientExchange> exchange, std::string note)
      : inner_(std::move(inner)),
        network_(network),
        ranks_(ranks),
        exchange_(exchange != nullptr ? std::move(exchange)
                                      : std::make_unique<GradientBuckets>(ranks)),
        note_(std::move(note)) {}

  std::string Note() const override {
    const std::string inner = inner_->Note();
    return note_ + (note_.empty() || inner.empty() ? "" : "\n") + inner;
  }

  Result<BatchResult> Run(const BatchStep& whole) override {
    if (whole.trains()) {
      has_trained_ = true;
    } else if (std::exchange(has_trained_, false)) {
      TUNE_RETURN_IF_ERROR(AverageStatistics());
    }
    BatchStep share = whole;
    static_cast<BatchImages&>(share) = ShareOf(whole);
    share.next = ShareOf(whole.next);
    if (whole.trains()) {
      const int before = static_cast<int>(share.begin - whole.begin);
      share.options.share = BatchShare{static_cast<int>(whole.count), before, exchange_.get()};
    }
    if (share.count == 0) return OverRanks(BatchResult());
    TUNE_ASSIGN_OR_RETURN(const BatchResult result, inner_->Run(share));
    return OverRanks(result);
  }

 private:
  BatchImages ShareOf(const BatchImages& whole) const {
    const int64_t begin = whole.count * ranks_.rank() / ranks_.world_size();
    const int64_t end = whole.count * (ranks_.rank() + 1) / ranks_.world_size();
    BatchImages share = whole;
    share.begin += begin;
    share.count = end - begin;
    if (!whole.images.empty()) {
      share.images =
          whole.images.subspan(static_cast<size_t>(begin), static_cast<size_t>(share.count));
    }
    return share;
  }

  // What the ranks' batch norms saw apart becomes one.
  Status AverageStatistics() {
    TUNE_ASSIGN_OR_RETURN(std::vector<NamedTensor> weights, network_.ExportWeights());
    std::vector<float> statistics;
    for (const NamedTensor& tensor : weights) {
      if (!IsRunningStatistic(tensor)) continue;
      statistics.insert(statistics.end(), tensor.data.begin(), tensor.data.end());
    }
    TUNE_RETURN_IF_ERROR(ranks_.Sum(std::span<float>(statistics)));
    auto sum = statistics.begin();
    for (NamedTensor& tensor : weights) {
      if (!IsRunningStatistic(tensor)) continue;
      for (float& mean : tensor.data) mean = *sum++ / static_cast<float>(ranks_.world_size());
    }
    return network_.ImportWeights(weights, /*head_optional=*/false);
  }

  Result<BatchResult> OverRanks(const BatchResult& mine) {
    std::array<double, 2> sums = {mine.loss_sum, static_cast<double>(mine.correct_count)};
    TUNE_RETURN_IF_ERROR(ranks_.Sum(std::span<double>(sums)));
    return BatchResult{sums[0], static_cast<int>(sums[1])};
  }

  const std::unique_ptr<BatchRunner> inner_;
  MobileNetV2& network_;
  AllReduce& ranks_;
  const std::unique_ptr<GradientExchange> exchange_;
  const std::string note_;
  bool has_trained_ = false;  // Since the statistics were averaged.
};

}  // namespace

int ShareMax(int batch_size, int world_size) { return (batch_size + world_size - 1) / world_size; }

std::unique_ptr<BatchRunner> MakeRankBatchRunner(std::unique_ptr<BatchRunner> inner,
                                                 MobileNetV2& network, AllReduce& ranks,
                                                 std::unique_ptr<GradientExchange> exchange,
                                                 std::string note) {
  return std::make_unique<RankBatchRunner>(std::move(inner), network, ranks, std::move(exchange),
                                           std::move(note));
}

}  // namespace tune::models
