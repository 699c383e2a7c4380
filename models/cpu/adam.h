// Adam (Kingma, Ba 2015, algorithm 1) over a flat array, as torch.optim.Adam computes it: betas 0.9
// and 0.999, epsilon 1e-8, added after the bias correction.
//
// Thread rule: pure; ranges that do not overlap may be updated at once.
#pragma once

#include <cstdint>
#include <span>

namespace tune::models::cpu {

// The update of step number `step` (the first is 1). The gradient is the sum of gradients[0 ..] in
// order, which is left in gradients[0]. Each array begins with the same parameter.
void AdamUpdate(int64_t count, double lr, int64_t step, std::span<float* const> gradients, float* m,
                float* v, float* parameters);

}  // namespace tune::models::cpu
