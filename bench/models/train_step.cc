// Times training steps (forward, backward, Adam, all layers) on request. bench/models/run drives
// it, so that it and its peer take turns:
//   bench_train_step WIDTH SIZE BATCH THREADS
// prints "flops N", "peak N" (operations of a step; per second of so many threads in registers, a
// fused multiply-add counted as two) and "megabytes N", and then, for each line "N" read, N lines
// of seconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "core/random.h"
#include "models/architecture.h"
#include "models/mobilenet_v2.h"

namespace tune::models {
namespace {

// The widest vector of one register that the compiler may use here.
#if defined(__AVX512F__)
typedef float Register __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float Register __attribute__((vector_size(32)));
#else
typedef float Register __attribute__((vector_size(16)));
#endif

double Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Multiplications and additions of a step's convolutions, forward and for both gradients.
double StepFlops(const NetworkOptions& options) {
  double flops = 0;
  for (const Convolution& c : BuildArchitecture(options).convolutions) {
    const double pixels = static_cast<double>(c.out_size) * c.out_size;
    const double inputs = c.kind == ConvolutionKind::kStem        ? 27
                          : c.kind == ConvolutionKind::kDepthwise ? 9
                                                                  : c.in_channels;
    // The images have no gradient.
    const int products = c.kind == ConvolutionKind::kStem ? 2 : 3;
    flops += 2.0 * products * pixels * c.out_channels * inputs;
  }
  return flops * options.batch_max;
}

constexpr int kChains = 12;

// As many independent chains of fused multiply-adds as hide their latency.
[[gnu::noinline]] void MultiplyAdd(int rounds) {
  Register chains[kChains] = {};
  const Register a = 0.999f - Register{}, b = 0.001f - Register{};
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (Register& chain : chains) {
      chain = chain * a + b;
      asm volatile("" : "+x"(chain));  // Each operation happens.
    }
  }
}

// Of one thread, the best of many short attempts: other programs may be using the machine.
double PeakFlops() {
  constexpr int kRounds = 1'000'000;
  double best = 0;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const double begin = Now();
    MultiplyAdd(kRounds);
    const double flops = 2.0 * (sizeof(Register) / sizeof(float)) * kChains * kRounds;
    best = std::max(best, flops / (Now() - begin));
  }
  return best;
}

int Main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: bench_train_step WIDTH SIZE BATCH THREADS\n");
    return 2;
  }
  NetworkOptions options;
  options.width_mult = std::atof(argv[1]);
  options.image_size = std::atoi(argv[2]);
  options.batch_max = std::atoi(argv[3]);
  options.threads = std::atoi(argv[4]);
  auto network = MobileNetV2::Create(options, 1);
  if (!network.ok()) {
    std::fprintf(stderr, "bench_train_step: %s\n", network.status().message().c_str());
    return 2;
  }
  const int batch = options.batch_max;
  std::vector<float> images(static_cast<size_t>(batch) * options.image_size * options.image_size *
                            3);
  KeyedRandom random(1, "images");
  for (float& value : images) value = static_cast<float>(random.NextUniform(-1, 1));
  std::vector<int32_t> labels(batch);
  for (int i = 0; i < batch; ++i) labels[i] = i % options.class_count;

  std::printf("flops %.6g\npeak %.6g\nmegabytes %.6g\n", StepFlops(options),
              PeakFlops() * options.threads, static_cast<double>((*network)->memory_bytes()) / 1e6);
  std::fflush(stdout);
  uint64_t step = 0;
  for (std::string line; std::getline(std::cin, line);) {
    for (int i = std::atoi(line.c_str()); i > 0; --i) {
      const double begin = Now();
      TrainStepOptions step_options;
      step_options.dropout_seed = ++step;
      const auto result = (*network)->TrainStep(images, labels, step_options);
      if (!result.ok()) {
        std::fprintf(stderr, "bench_train_step: %s\n", result.status().message().c_str());
        return 1;
      }
      std::printf("%.6f\n", Now() - begin);
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tune::models

int main(int argc, char** argv) { return tune::models::Main(argc, argv); }
