#include "models/ranks/gradient_buckets.h"

namespace tune::models {

GradientBuckets::GradientBuckets(AllReduce& ranks, int64_t bucket_floats)
    : ranks_(ranks), queue_(bucket_floats), thread_([this] { Run(); }) {}

GradientBuckets::~GradientBuckets() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void GradientBuckets::Begin(std::span<float> gradients) {
  const std::lock_guard lock(mutex_);
  queue_.Begin(gradients);
}

void GradientBuckets::Ready(int64_t begin) {
  {
    const std::lock_guard lock(mutex_);
    queue_.Ready(begin);
  }
  changed_.notify_all();
}

Status GradientBuckets::Finish() {
  std::unique_lock lock(mutex_);
  queue_.End();
  changed_.notify_all();
  changed_.wait(lock, [this] { return NextBucket().empty(); });
  return status_;
}

std::span<float> GradientBuckets::NextBucket() const {
  return status_.ok() ? queue_.Front() : std::span<float>();
}

void GradientBuckets::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !NextBucket().empty(); });
    if (is_ending_) return;
    const std::span<float> bucket = NextBucket();
    lock.unlock();
    const Status status = ranks_.Sum(bucket);
    lock.lock();
    status_ = status;
    if (status.ok()) queue_.Pop();
    changed_.notify_all();
  }
}

}  // namespace tune::models
