#include "models/ranks/gloo_all_reduce.h"

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tune::models {
namespace {

// Whether a rank still lives is known to who started it: here nobody gives up on another.
constexpr std::chrono::hours kPatience{24 * 365};

// Of the ranks before this one Gloo first asks on which machines they are, and would wait for each
// 30 s, whatever the context's patience is.
class PatientStore final : public gloo::rendezvous::FileStore {
 public:
  using FileStore::FileStore;
  using FileStore::wait;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    FileStore::wait(keys, kPatience);
  }
};

// One line: Gloo begins its messages with the place in its source.
Status Lost(const std::exception& error) {
  std::string text = error.what();
  if (const size_t end = text.find("] "); text.starts_with('[') && end != std::string::npos) {
    text.erase(0, end + 2);
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return Unavailable("the connection to another rank broke: " + text);
}

class GlooAllReduce final : public AllReduce {
 public:
  explicit GlooAllReduce(std::shared_ptr<gloo::rendezvous::Context> context)
      : context_(std::move(context)) {}

  int rank() const override { return context_->rank; }
  int world_size() const override { return context_->size; }

  Status Sum(std::span<float> numbers) override { return SumOf(numbers); }
  Status Sum(std::span<double> numbers) override { return SumOf(numbers); }

 private:
  template <typename T>
  Status SumOf(std::span<T> numbers) {
    if (!status_.ok() || numbers.empty()) return status_;
    try {
      gloo::AllreduceOptions options(context_);
      options.setOutput(numbers.data(), numbers.size());
      options.setReduceFunction(
          static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<T>));
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      gloo::allreduce(options);
    } catch (const std::exception& error) {
      status_ = Lost(error);
    }
    return status_;
  }

  const std::shared_ptr<gloo::rendezvous::Context> context_;
  Status status_;
};

}  // namespace

Result<std::unique_ptr<AllReduce>> ConnectRanks(const RankPlace& place) {
  TUNE_CHECK(place.world_size >= 2 && place.rank >= 0 && place.rank < place.world_size);
  try {
    std::filesystem::create_directories(place.folder);
    PatientStore store(place.folder);
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(place.host.c_str()));
    auto context = std::make_shared<gloo::rendezvous::Context>(place.rank, place.world_size);
    context->setTimeout(kPatience);
    context->connectFullMesh(store, device);
    // All have read what the others wrote.
    gloo::BarrierOptions everybody(context);
    gloo::barrier(everybody);
    if (place.rank == 0) {
      std::error_code ignored;  // It is looked at by nobody any more.
      std::filesystem::remove_all(place.folder, ignored);
    }
    return std::unique_ptr<AllReduce>(std::make_unique<GlooAllReduce>(std::move(context)));
  } catch (const std::exception& error) {
    return Lost(error).At(place.folder);
  }
}

}  // namespace tune::models
