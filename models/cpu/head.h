// The end of the network: global average pooling, dropout, the linear layer, softmax cross entropy;
// and back.
//
// Thread rule: pure functions; those with a range may run beside others of other ranges.
#pragma once

#include <cstdint>
#include <span>

#include "models/cpu/rows.h"
#include "models/mobilenet_v2.h"

namespace tune::models::cpu {

struct HeadShape {
  int pixels = 0;    // Of a feature map.
  int features = 0;  // A multiple of eight.
  int classes = 0;
};

// pooled (batch, features) = mean over the pixels of relu6(normalised y), for the images [begin,
// end).
void PoolForward(const HeadShape& shape, const float* y, const NormFold& fold, int64_t begin,
                 int64_t end, float* pooled);

// dz = gradient of normalised y, sums += (dz, dz * y), for the images [begin, end).
void PoolBackward(const HeadShape& shape, const float* pooled_gradient, const float* y,
                  const NormFold& fold, int64_t begin, int64_t end, float* dz, double* sums);

// Multipliers (batch, features): 0 with the given probability, else 1 / (1 - probability); keyed by
// (seed, image), the images counted from `first_image`.
void DropoutMask(const HeadShape& shape, int batch, double probability, uint64_t seed, float* mask,
                 int first_image = 0);

// logits (batch, classes)
void LinearForward(const HeadShape& shape, int batch, const float* x, const float* weights,
                   const float* bias, float* logits);
void LinearBackward(const HeadShape& shape, int batch, const float* x, const float* weights,
                    const float* logits_gradient, float* weight_gradient, float* bias_gradient,
                    float* x_gradient);

// Loss and hits; logits_gradient is written unless null: of the mean loss over `whole_count`
// images, these and others; 0: these alone.
BatchResult SoftmaxCrossEntropy(std::span<const float> logits, std::span<const int32_t> labels,
                                float* logits_gradient, int whole_count = 0);

}  // namespace tune::models::cpu
