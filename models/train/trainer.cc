#include "models/train/trainer.h"

#include <span>
#include <utility>

#include "core/check.h"
#include "models/cuda/network.h"
#include "models/train/rank_batch_runner.h"
#include "models/train/rank_check.h"
#include "models/train/safetensors.h"

namespace tune::models {
namespace {

// How ranks add up their gradients, and what a log says of it.
struct RankExchange {
  std::unique_ptr<GradientExchange> exchange;  // Null: through the host.
  std::string note;
};

Result<RankExchange> MakeExchange(MobileNetV2& network, AllReduce& ranks) {
  Result<std::unique_ptr<GradientExchange>> exchange = cuda::MakeExchange(network, ranks);
  if (exchange.ok()) {
    const std::string note = *exchange ? "gradients go from card to card, by NCCL" : "";
    return RankExchange{*std::move(exchange), note};
  }
  if (exchange.status().code() != StatusCode::kFailedPrecondition) return exchange.status();
  return RankExchange{nullptr, "gradients go through the host: " + exchange.status().message()};
}

}  // namespace

Trainer::Trainer(const Food11Options& options, std::shared_ptr<const Dataset> dataset,
                 std::unique_ptr<MobileNetV2> network, SecondsClock seconds,
                 std::unique_ptr<BatchRunner> batches, int world_size)
    : dataset_(std::move(dataset)),
      network_(std::move(network)),
      batches_(batches != nullptr ? std::move(batches) : MakeHostBatchRunner(*network_, *dataset_)),
      run_(options, dataset_, *network_, std::move(seconds), network_->options().threads,
           kImagesPerRankMin * world_size) {
  TUNE_CHECK(network_->options().image_size == options.image_size);
  TUNE_CHECK(network_->options().class_count == dataset_->class_count());
  TUNE_CHECK(network_->options().batch_max >= ShareMax(options.batch_size, world_size));
}

Result<EpochReport> Trainer::RunEpoch() {
  if (unchecked_ranks_ != nullptr) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<Alike> mine, AlikeOf(run_, *dataset_, *network_));
    TUNE_RETURN_IF_ERROR(CheckAlike(*std::exchange(unchecked_ranks_, nullptr), mine));
  }
  TUNE_RETURN_IF_ERROR(run_.BeginEpoch());
  return RunSteps();
}

Result<EpochReport> Trainer::RunTest() {
  TUNE_RETURN_IF_ERROR(run_.BeginTest());
  return RunSteps();
}

Result<EpochReport> Trainer::RunSteps() {
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

Result<PlacedDevice> AgreeOnDevice(DeviceKind wanted, AllReduce& ranks) {
  TUNE_ASSIGN_OR_RETURN(PlacedDevice mine, PlaceDevice(wanted));
  if (wanted != DeviceKind::kAuto) return mine;
  double with_card = mine.kind == DeviceKind::kCuda ? 1 : 0;
  TUNE_RETURN_IF_ERROR(ranks.Sum(std::span(&with_card, 1)));
  if (with_card == ranks.world_size() || mine.kind == DeviceKind::kCpu) return mine;
  return PlacedDevice{DeviceKind::kCpu,
                      "device auto: computes on the processor: not each rank has a card"};
}

Status LoadWeights(const Food11Options& options, NetworkTensors& tensors) {
  if (options.weights.empty()) return OkStatus();
  const Result<std::vector<NamedTensor>> loaded = ReadSafetensors(options.weights);
  // What is unavailable to a training is another rank (all_reduce.h).
  if (loaded.status().code() == StatusCode::kUnavailable) {
    return Internal(loaded.status().message());
  }
  TUNE_RETURN_IF_ERROR(loaded.status());
  const Status imported = tensors.ImportWeights(*loaded, /*head_optional=*/true);
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
  TUNE_ASSIGN_OR_RETURN(const PlacedDevice device, ranks == nullptr
                                                       ? PlaceDevice(options.device)
                                                       : AgreeOnDevice(options.device, *ranks));
  placed.device = device.kind;
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<MobileNetV2> network,
                        MakeNetwork(placed, dataset->class_count(), threads, world_size));
  RankExchange exchange;
  if (ranks != nullptr) {
    TUNE_ASSIGN_OR_RETURN(exchange, MakeExchange(*network, *ranks));
  }
  // On a card, the data lies there too, as far as it has room beside all else.
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<BatchRunner> batches,
                        cuda::MakeBatchRunner(*network, dataset));
  if (batches == nullptr) batches = MakeHostBatchRunner(*network, *dataset);
  if (ranks != nullptr) {
    batches = MakeRankBatchRunner(std::move(batches), *network, *ranks,
                                  std::move(exchange.exchange), std::move(exchange.note));
  }
  auto trainer = std::make_unique<Trainer>(placed, std::move(dataset), std::move(network),
                                           std::move(seconds), std::move(batches), world_size);
  if (ranks != nullptr) trainer->CheckAgainst(*ranks);
  return trainer;
}

}  // namespace tune::models
