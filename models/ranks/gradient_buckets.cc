#include "models/ranks/gradient_buckets.h"

#include <algorithm>

namespace tune::models {

GradientBuckets::GradientBuckets(AllReduce& ranks, int64_t bucket_floats)
    : ranks_(ranks), bucket_floats_(bucket_floats), thread_([this] { Run(); }) {}

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
  gradients_ = gradients;
  ready_ = summed_ = static_cast<int64_t>(gradients.size());
  is_last_ = false;
}

void GradientBuckets::Ready(int64_t begin) {
  {
    const std::lock_guard lock(mutex_);
    ready_ = begin;
  }
  changed_.notify_all();
}

Status GradientBuckets::Finish() {
  std::unique_lock lock(mutex_);
  is_last_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !status_.ok() || summed_ == ready_; });
  return status_;
}

std::span<float> GradientBuckets::NextBucket() const {
  const int64_t whole = summed_ - bucket_floats_;
  const int64_t begin = is_last_ ? std::max(whole, ready_) : whole;
  if (!status_.ok() || begin < ready_ || begin == summed_) return {};
  return gradients_.subspan(static_cast<size_t>(begin), static_cast<size_t>(summed_ - begin));
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
    if (status.ok()) summed_ -= static_cast<int64_t>(bucket.size());
    changed_.notify_all();
  }
}

}  // namespace tune::models
