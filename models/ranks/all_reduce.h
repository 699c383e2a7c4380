// The ranks of one data-parallel training, and the one thing that they do together: each brings as
// many numbers, and each gets the same sums, bit for bit, in an order of addition that depends on
// their number alone.
//
// A rank waits for the others as long as they are there: an epoch, a report that waits for its
// answer. One that ended breaks its connections, and every rank that waits for it hears of it.
//
// Thread rule: one thread at a time.
// Errors: kUnavailable: a connection to another rank broke. Every later call fails too.
#pragma once

#include <span>

#include "core/status.h"

namespace tune::models {

class AllReduce {
 public:
  virtual ~AllReduce() = default;

  virtual int rank() const = 0;  // From 0.
  virtual int world_size() const = 0;

  // In place.
  virtual Status Sum(std::span<float> numbers) = 0;
  virtual Status Sum(std::span<double> numbers) = 0;
};

}  // namespace tune::models
