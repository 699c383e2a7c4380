// Adam (Kingma, Ba 2015, algorithm 1) over a flat array, as torch.optim.Adam computes it: betas 0.9
// and 0.999, epsilon 1e-8, added after the bias correction; with weight decay, torch.optim.AdamW
// (Loshchilov, Hutter, ICLR 2019, algorithm 2).
//
// Thread rule: pure; ranges that do not overlap may be updated at once.
#pragma once

#include <cstdint>
#include <span>

namespace tune::models::cpu {

struct AdamRates {
  double lr = 0;
  double weight_decay = 0;  // Parameters first lose lr * weight_decay of themselves.
  int64_t step = 1;         // The number of this one, from 1.
};

// One update. The gradient is the sum of gradients[0 ..] in
// order, which is left in gradients[0]. Each array begins with the same parameter.
void AdamUpdate(int64_t count, const AdamRates& rates, std::span<float* const> gradients, float* m,
                float* v, float* parameters);

}  // namespace tune::models::cpu
