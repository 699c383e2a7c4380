#include "models/train/trainer.h"

#include <span>
#include <utility>

#include "core/check.h"
#include "models/cuda/network.h"
#include "models/train/rank_batch_runner.h"
#include "models/train/safetensors.h"

namespace tune::models {
namespace {

// Where the ranks' networks compute: on cards only if each of them has one.
Result<DeviceKind> AgreedDevice(DeviceKind wanted, AllReduce* ranks) {
  if (wanted != DeviceKind::kAuto || ranks == nullptr) return wanted;
  double with_card = cuda::CardName().ok() ? 1 : 0;
  TUNE_RETURN_IF_ERROR(ranks->Sum(std::span(&with_card, 1)));
  return with_card == ranks->world_size() ? DeviceKind::kCuda : DeviceKind::kCpu;
}

struct RankedBatches {
  std::unique_ptr<BatchRunner> batches;
  std::string note;
};

// `inner`: the card's runner; null: the network is on the processor.
Result<RankedBatches> ShareBatches(std::unique_ptr<BatchRunner> inner, MobileNetV2& network,
                                   const Dataset& dataset, AllReduce& ranks) {
  if (inner == nullptr) {
    return RankedBatches{MakeRankBatchRunner(MakeHostBatchRunner(network, dataset), network, ranks),
                         ""};
  }
  Result<std::unique_ptr<GradientExchange>> exchange = cuda::MakeExchange(network, ranks);
  if (exchange.ok()) {
    return RankedBatches{
        MakeRankBatchRunner(std::move(inner), network, ranks, *std::move(exchange)),
        "gradients go from card to card, by NCCL"};
  }
  if (exchange.status().code() != StatusCode::kFailedPrecondition) return exchange.status();
  return RankedBatches{MakeRankBatchRunner(std::move(inner), network, ranks),
                       "gradients go through the host: " + exchange.status().message()};
}

}  // namespace

Trainer::Trainer(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
                 std::unique_ptr<MobileNetV2> network, SecondsClock seconds,
                 std::unique_ptr<BatchRunner> batches, int world_size, std::string note)
    : dataset_(std::move(dataset)),
      network_(std::move(network)),
      batches_(batches != nullptr ? std::move(batches) : MakeHostBatchRunner(*network_, *dataset_)),
      note_(std::move(note)),
      run_(options, dataset_, *network_, std::move(seconds), kImagesPerRankMin * world_size) {
  TUNE_CHECK(network_->options().image_size == options.image_size);
  TUNE_CHECK(network_->options().class_count == dataset_->class_count());
  TUNE_CHECK(network_->options().batch_max >= ShareMax(options.batch_size, world_size));
}

Result<EpochReport> Trainer::RunEpoch() {
  TUNE_RETURN_IF_ERROR(run_.BeginEpoch());
  while (run_.is_in_epoch()) {
    TUNE_ASSIGN_OR_RETURN(const BatchResult result, batches_->Run(run_.NextStep()));
    TUNE_RETURN_IF_ERROR(run_.Take(result));
  }
  return run_.history().back();
}

NetworkOptions NetworkOptionsOf(const Food11Options& options, int class_count, int threads,
                                int world_size) {
  NetworkOptions network_options;
  network_options.width_mult = options.width_mult;
  network_options.image_size = options.image_size;
  network_options.class_count = class_count;
  network_options.batch_max = ShareMax(options.batch_size, world_size);
  network_options.threads = threads;
  network_options.device = options.device;
  network_options.precision = options.precision;
  return network_options;
}

Status LoadWeights(const Food11Options& options, NetworkTensors& tensors) {
  if (options.weights.empty()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> loaded, ReadSafetensors(options.weights));
  const Status imported = tensors.ImportWeights(loaded, /*head_optional=*/true);
  return imported.ok() ? imported : imported.At(options.weights);
}

Result<std::unique_ptr<MobileNetV2>> MakeNetwork(const Food11Options& options, int class_count,
                                                 int threads, int world_size) {
  TUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<MobileNetV2> network,
      MobileNetV2::Create(NetworkOptionsOf(options, class_count, threads, world_size),
                          options.seed));
  TUNE_RETURN_IF_ERROR(LoadWeights(options, *network));
  return network;
}

Result<std::unique_ptr<Trainer>> MakeTrainer(const Food11Options& options,
                                             std::shared_ptr<const Dataset> dataset, int threads,
                                             SecondsClock seconds, AllReduce* ranks) {
  const int world_size = ranks == nullptr ? 1 : ranks->world_size();
  TUNE_RETURN_IF_ERROR(CheckForRanks(options, world_size));
  TUNE_RETURN_IF_ERROR(CheckData(options, *dataset, world_size));
  Food11Options placed = options;
  TUNE_ASSIGN_OR_RETURN(placed.device, AgreedDevice(options.device, ranks));
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network,
                        MakeNetwork(placed, dataset->class_count(), threads, world_size));
  // On a card, the data lies there too.
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<BatchRunner> batches,
                        cuda::MakeBatchRunner(*network, dataset));
  std::string note;
  if (ranks != nullptr) {
    TUNE_ASSIGN_OR_RETURN(RankedBatches ranked,
                          ShareBatches(std::move(batches), *network, *dataset, *ranks));
    batches = std::move(ranked.batches);
    note = std::move(ranked.note);
  }
  return std::make_unique<Trainer>(options, std::move(dataset), std::move(network),
                                   std::move(seconds), std::move(batches), world_size,
                                   std::move(note));
}

}  // namespace tune::models
