// Where a network hands the gradients of its share of a batch to be added to those of the other
// ranks, while its backward pass still computes the ones of earlier layers.
//
// The array is in the host's memory and the calls are about what is done, or it is on the network's
// card (is_on_card) and they are orders to the card, which it follows in their turn: then Finish
// waits for nothing, and what goes wrong is the card's error.
//
// Thread rule: called by the thread that drives the network.
#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"

namespace tune::models {

class GradientExchange {
 public:
  virtual ~GradientExchange() = default;

  virtual bool is_on_card() const { return false; }
  // A step begins. Its backward pass computes this array from its end.
  virtual void Begin(std::span<float> gradients) = 0;
  // All from `begin` on is computed, and not touched by the network until Finish. `begin` falls
  // from call to call.
  virtual void Ready(int64_t begin) = 0;
  // Waits until what was ready holds the sums over all ranks. On an error it holds nothing.
  virtual Status Finish() = 0;
};

// A batch that several ranks share: this network has some of its images, one after the other.
struct BatchShare {
  int whole_count = 0;  // Images of all ranks; the loss is their mean.
  int first_image = 0;  // Place of this network's first one among them.
  GradientExchange* exchange = nullptr;
};

}  // namespace tune::models
