// Times training steps on a CUDA device, all of them in the way that trials run: inputs uploaded,
// the step's graph launched, results fetched, each step waited for. Images lie on the card, or
// (streamed) come to it from the host's memory while it computes the step before.
//   bench_gpu_step WIDTH SIZE BATCH LANES bf16|fp32 STEPS
// prints lines of "name value"; bench/gpu/run drives it beside its peer. With 0 STEPS it takes one
// step and prints nothing: for a profiler (bench/gpu/profile). Ends with 77 where there is no
// device.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/card_network.h"
#include "models/cuda/cuda_card.cuh"

namespace tune::models::cuda {
namespace {

constexpr int kRounds = 5;  // The median of so many is told.

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Seconds of one call of f, the median over rounds of `count` calls; once to warm up.
template <class F>
double SecondsOf(int count, F&& f) {
  for (int i = 0; i < 3; ++i) f();
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = Now();
    for (int i = 0; i < count; ++i) f();
    seconds.push_back((Now() - begin) / count);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

// The fewest bytes that a step moves when each convolution's output is written once, read once
// forward and once backward, and its gradient written and read once.
double FloorBytes(const Architecture& architecture, int64_t images, int64_t number_bytes) {
  int64_t numbers = 0;
  for (const Convolution& c : architecture.convolutions) {
    numbers += int64_t{c.out_size} * c.out_size * c.out_channels;
  }
  return 5.0 * static_cast<double>(numbers * images * number_bytes);
}

// Bytes read and written a second by a copy on the card, or 0.
double CopyBandwidth(CudaCard& card) {
  constexpr int64_t kBytes = int64_t{1} << 30;
  const auto from = card.New<uint8_t>(kBytes), to = card.New<uint8_t>(kBytes);
  if (!card.status().ok()) return 0;
  const double seconds = SecondsOf(10, [&] {
    if (cudaMemcpy(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice) != cudaSuccess) {
      std::exit(1);
    }
    if (cudaDeviceSynchronize() != cudaSuccess) std::exit(1);
  });
  return 2.0 * kBytes / seconds;
}

struct Request {
  NetworkOptions options;
  int lanes = 1;
  int steps = 20;
};

template <class T>
Status Measure(const Request& request) {
  const NetworkOptions& options = request.options;
  const int batch = options.batch_max;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<CudaCard> card, CudaCard::Open());
  LaneNetwork<CudaCard, T> network(*card, options, request.lanes);
  TUNE_RETURN_IF_ERROR(network.status());
  std::vector<LaneInput> lanes;
  for (int lane = 0; lane < request.lanes; ++lane) {
    const NetworkState state = InitialState(network.architecture(), static_cast<uint64_t>(lane));
    TUNE_RETURN_IF_ERROR(network.SetState(lane, state));
    lanes.push_back(ToLaneInput(TrainStepOptions(), state));
  }
  constexpr int kImages = 512;
  KeyedRandom random(1, "images");
  const size_t image_bytes = static_cast<size_t>(options.image_size) * options.image_size * 3;
  std::vector<uint8_t> pixels(kImages * image_bytes);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random.NextBelow(256));
  const auto set = card->New<uint8_t>(static_cast<int64_t>(pixels.size()));
  card->Upload(pixels.data(), set.size(), set.data());
  std::vector<ImageInput> inputs(static_cast<size_t>(batch) * request.lanes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].source = static_cast<int64_t>(i % kImages);
    inputs[i].label = static_cast<int32_t>(i % 11);
    inputs[i].dropout_key = i;
    inputs[i].change =
        ToChange(DrawAugmentation({.seed = 1}, 1, static_cast<int64_t>(i)), options.image_size);
  }
  std::vector<ImageResult> results(inputs.size());
  if (request.steps == 0) {
    network.MakeImages(set.data(), inputs);
    return network.Train(lanes, inputs, results);
  }
  Status failed;
  const auto note = [&](const Status& status) {
    if (failed.ok() && !status.ok()) failed = status;
  };
  const double augment = SecondsOf(request.steps, [&] {
    network.MakeImages(set.data(), inputs);
    note(card->Finish());
  });
  const double step =
      SecondsOf(request.steps, [&] { note(network.Train(lanes, inputs, results)); });
  const double with_images = SecondsOf(request.steps, [&] {
    network.MakeImages(set.data(), inputs);
    note(network.Train(lanes, inputs, results));
  });
  auto data = std::make_shared<Dataset>();
  data->image_size = options.image_size;
  data->splits[0].pixels = pixels;
  ImageStream<CudaCard> stream(*card, data, static_cast<int64_t>(inputs.size()));
  std::vector<StreamedImages> batches(16);
  for (StreamedImages& drawn : batches) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      drawn.numbers.push_back(static_cast<int64_t>(random.NextBelow(kImages)));
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].source = static_cast<int64_t>(i);
  size_t turn = 0;
  const double streamed = SecondsOf(request.steps, [&] {
    const StreamedImages& now = batches[turn++ % batches.size()];
    const auto place = stream.Bring(now, batches[turn % batches.size()]);
    note(place.status());
    if (!place.ok()) return;
    network.MakeImages(*place, inputs);
    note(network.Train(lanes, inputs, results));
  });
  TUNE_RETURN_IF_ERROR(failed);
  const double bandwidth = CopyBandwidth(*card);
  const double images = static_cast<double>(inputs.size());
  std::printf("device %s\n", card->name().c_str());
  std::printf("step_images_per_second %.6g\naugment_images_per_second %.6g\n", images / step,
              images / augment);
  std::printf("whole_images_per_second %.6g\nstreamed_images_per_second %.6g\n",
              images / with_images, images / streamed);
  std::printf("megabytes %.6g\nbandwidth %.6g\nfloor_share %.4g\n",
              static_cast<double>(network.memory_bytes()) / 1e6, bandwidth,
              FloorBytes(network.architecture(), static_cast<int64_t>(inputs.size()), sizeof(T)) /
                  bandwidth / step);
  std::printf("loss %.6g\n", results[0].loss);
  return OkStatus();
}

int Main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: bench_gpu_step WIDTH SIZE BATCH LANES bf16|fp32 STEPS\n");
    return 2;
  }
  Request request;
  request.options.width_mult = std::atof(argv[1]);
  request.options.image_size = std::atoi(argv[2]);
  request.options.batch_max = std::atoi(argv[3]);
  request.lanes = std::atoi(argv[4]);
  request.steps = std::atoi(argv[6]);
  const Status measured =
      std::strcmp(argv[5], "bf16") == 0 ? Measure<Bf16>(request) : Measure<float>(request);
  if (measured.ok()) return 0;
  std::fprintf(stderr, "bench_gpu_step: %s\n", measured.message().c_str());
  return measured.code() == StatusCode::kFailedPrecondition ? 77 : 1;
}

}  // namespace
}  // namespace tune::models::cuda

int main(int argc, char** argv) { return tune::models::cuda::Main(argc, argv); }
