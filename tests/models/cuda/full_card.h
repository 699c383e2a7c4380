// The processor in the place of a card that has no room for any data set.
#pragma once

#include <cstdint>

#include "models/cuda/host_card.h"

namespace tune::models::cuda {

class FullCard : public HostCard {
 public:
  using HostCard::HostCard;
  int64_t FreeBytes() const { return 0; }
};

}  // namespace tune::models::cuda
