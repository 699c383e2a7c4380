// One rank of a training whose steps are timed on request. bench/ranks/run starts all of them and
// drives them, so that they and their peers take turns:
//   bench_ranks RANK RANKS FOLDER WIDTH SIZE BATCH THREADS cpu|cuda
// BATCH is the whole batch, THREADS a rank's, FOLDER where they meet. Prints a line that says how
// gradients go, and then, for each line "N" read, N lines "SECONDS WAITED SUMMING": of a step; of
// it how long it waited for sums after its own gradients were there; how long sums were under way.
// Of sums from card to card neither is known: "nan".
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "models/cuda/network.h"
#include "models/data/synthetic.h"
#include "models/ranks/gloo_all_reduce.h"
#include "models/ranks/gradient_buckets.h"
#include "models/train/batch_runner.h"
#include "models/train/rank_batch_runner.h"

namespace tune::models {
namespace {

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

class TimedSums final : public AllReduce {
 public:
  explicit TimedSums(AllReduce& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  Status Sum(std::span<float> numbers) override {
    const double begin = Now();
    const Status status = inner_.Sum(numbers);
    seconds += Now() - begin;
    return status;
  }
  Status Sum(std::span<double> numbers) override { return inner_.Sum(numbers); }

  double seconds = 0;

 private:
  AllReduce& inner_;
};

class TimedExchange final : public GradientExchange {
 public:
  explicit TimedExchange(std::unique_ptr<GradientExchange> inner) : inner_(std::move(inner)) {}
  bool is_on_card() const override { return inner_->is_on_card(); }
  void Begin(std::span<float> gradients) override { inner_->Begin(gradients); }
  void Ready(int64_t begin) override { inner_->Ready(begin); }
  Status Finish() override {
    const double begin = Now();
    const Status status = inner_->Finish();
    seconds += Now() - begin;
    return status;
  }

  double seconds = 0;

 private:
  const std::unique_ptr<GradientExchange> inner_;
};

struct Request {
  int rank = 0, ranks = 1;
  std::string folder;
  int batch = 0;
  NetworkOptions network;
};

// On processors the batch lies in memory; a card makes it from its data set, as in a training.
class Steps {
 public:
  Status Prepare(const Request& request) {
    request_ = request;
    if (request.ranks > 1) {
      TUNE_ASSIGN_OR_RETURN(connected_,
                            ConnectRanks({request.rank, request.ranks, request.folder}));
      sums_ = std::make_unique<TimedSums>(*connected_);
    }
    TUNE_ASSIGN_OR_RETURN(network_, MobileNetV2::Create(request.network, 1));
    TUNE_ASSIGN_OR_RETURN(batches_, cuda::MakeBatchRunner(*network_, DataSet()));
    TUNE_RETURN_IF_ERROR(ChooseExchange());
    DrawBatch();
    return OkStatus();
  }

  Status Run() {
    TrainStepOptions options;
    options.dropout_seed = ++step_;
    const int begin = request_.batch * request_.rank / request_.ranks;
    const int end = request_.batch * (request_.rank + 1) / request_.ranks;
    if (exchange_ != nullptr) options.share = BatchShare{request_.batch, begin, exchange_.get()};
    if (batches_ == nullptr) return network_->TrainStep(images_, labels_, options).status();
    BatchStep step;
    step.count = end - begin;
    step.images =
        std::span(order_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    step.options = options;
    return batches_->Run(step).status();
  }

  const std::string& how() const { return how_; }
  double waited() const { return exchange_ == nullptr ? 0 : OnHost(exchange_->seconds); }
  double summing() const { return sums_ == nullptr ? 0 : OnHost(sums_->seconds); }

 private:
  double OnHost(double seconds) const { return exchange_->is_on_card() ? std::nan("") : seconds; }

  std::shared_ptr<const Dataset> DataSet() const {
    SyntheticOptions options;
    options.image_size = request_.network.image_size;
    options.class_count = request_.network.class_count;
    options.training_per_class = request_.batch / options.class_count + 1;
    options.validation_per_class = options.evaluation_per_class = 1;
    return std::make_shared<const Dataset>(MakeSynthetic(options));
  }

  Status ChooseExchange() {
    how_ = "alone";
    if (request_.ranks == 1) return OkStatus();
    how_ = "by Gloo";
    std::unique_ptr<GradientExchange> exchange;
    if (batches_ != nullptr) {
      Result<std::unique_ptr<GradientExchange>> on_cards = cuda::MakeExchange(*network_, *sums_);
      if (on_cards.ok()) {
        exchange = *std::move(on_cards);
      } else if (on_cards.status().code() != StatusCode::kFailedPrecondition) {
        return on_cards.status();
      }
      how_ = on_cards.ok() ? "by NCCL" : "by Gloo: " + on_cards.status().message();
    }
    if (exchange == nullptr) exchange = std::make_unique<GradientBuckets>(*sums_);
    exchange_ = std::make_unique<TimedExchange>(std::move(exchange));
    return OkStatus();
  }

  void DrawBatch() {
    const int count = request_.batch * (request_.rank + 1) / request_.ranks -
                      request_.batch * request_.rank / request_.ranks;
    const int size = request_.network.image_size;
    images_.resize(static_cast<size_t>(count) * size * size * 3);
    KeyedRandom random(1, "images", static_cast<uint64_t>(request_.rank));
    for (float& value : images_) value = static_cast<float>(random.NextUniform(-1, 1));
    for (int i = 0; i < count; ++i) labels_.push_back(i % request_.network.class_count);
    order_.resize(static_cast<size_t>(request_.batch));
    std::iota(order_.begin(), order_.end(), 0);
  }

  Request request_;
  std::unique_ptr<AllReduce> connected_;
  std::unique_ptr<TimedSums> sums_;  // Null: alone.
  std::unique_ptr<MobileNetV2> network_;
  std::unique_ptr<BatchRunner> batches_;  // Null: on processors.
  std::unique_ptr<TimedExchange> exchange_;
  std::string how_;
  std::vector<float> images_;
  std::vector<int32_t> labels_;
  std::vector<int64_t> order_;
  uint64_t step_ = 0;
};

int Fail(const Status& status) {
  std::fprintf(stderr, "bench_ranks: %s\n", status.message().c_str());
  return 1;
}

int Main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr,
                 "usage: bench_ranks RANK RANKS FOLDER WIDTH SIZE BATCH THREADS cpu|cuda\n");
    return 2;
  }
  Request request;
  request.rank = std::atoi(argv[1]);
  request.ranks = std::atoi(argv[2]);
  request.folder = argv[3];
  request.batch = std::atoi(argv[6]);
  request.network.width_mult = std::atof(argv[4]);
  request.network.image_size = std::atoi(argv[5]);
  request.network.batch_max = ShareMax(request.batch, request.ranks);
  request.network.threads = std::atoi(argv[7]);
  request.network.device = std::string(argv[8]) == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu;
  Steps steps;
  if (const Status ready = steps.Prepare(request); !ready.ok()) return Fail(ready);
  std::printf("%s\n", steps.how().c_str());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    for (int i = std::atoi(line.c_str()); i > 0; --i) {
      const double begin = Now(), waited = steps.waited(), summing = steps.summing();
      if (const Status status = steps.Run(); !status.ok()) return Fail(status);
      std::printf("%.6f %.6f %.6f\n", Now() - begin, steps.waited() - waited,
                  steps.summing() - summing);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tune::models

int main(int argc, char** argv) { return tune::models::Main(argc, argv); }
