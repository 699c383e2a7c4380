// What the depthwise kernels must do on any Device, against the plain kernels.
#pragma once

#include "tests/models/cuda/kernel_cases.h"

namespace tune::models::cuda {

struct DepthwiseCase {
  int batch, channels, size, stride;
};
inline constexpr DepthwiseCase kDepthwiseCases[] = {
    {2, 8, 5, 1},  {2, 8, 5, 2},   {1, 24, 1, 1}, {3, 16, 2, 2}, {2, 144, 7, 1}, {1, 200, 6, 2},
    {5, 32, 9, 1}, {2, 32, 13, 2}, {2, 8, 29, 1}, {1, 8, 61, 1}, {1, 8, 61, 2}};

// relu6(scale x + shift) of each lane's tensor, channels innermost.
inline Values ActivatedValues(const Values& x, const Values& scale, const Values& shift) {
  Values z(x.size());
  const size_t channels = scale.size();
  for (size_t i = 0; i < x.size(); ++i) z[i] = x[i] * scale[i % channels] + shift[i % channels];
  return reference::Relu6(z);
}

template <class T, class Device>
void DepthwiseForwardAgrees(Device& device) {
  for (const DepthwiseCase& c : kDepthwiseCases) {
    const ImageShape in = {c.batch, c.size, c.channels};
    const int out_size = reference::OutSize(c.size, c.stride);
    const int64_t in_count = int64_t{c.batch} * c.size * c.size * c.channels;
    const int64_t out_count = int64_t{c.batch} * out_size * out_size * c.channels;
    const auto x_of = [&](int lane) { return DrawValues("x", lane, in_count, 3, 1); };
    const auto w_of = [&](int lane) { return DrawValues("w", lane, c.channels * 9); };
    const auto scale_of = [&](int lane) { return DrawValues("scale", lane, c.channels, 1, 1); };
    const auto shift_of = [&](int lane) { return DrawValues("shift", lane, c.channels); };
    const auto x = ToDevice<T>(device, OfLanes(x_of));
    const auto w = ToDevice<float>(device, OfLanes(w_of));
    const auto scale = ToDevice<float>(device, OfLanes(scale_of));
    const auto shift = ToDevice<float>(device, OfLanes(shift_of));
    const auto y = device.template New<T>(out_count * kLanes);
    const auto run = [&](auto kernel) {
      kernel.shape = {c.batch, c.channels, c.size, out_size};
      kernel.g = kernel.shape.ForwardPieces().Geometry(c.batch, c.channels);
      const auto partial = device.template New<float>(kernel.g.chunks * 2 * c.channels * kLanes);
      kernel.x = x.data();
      kernel.fold = {{scale.data(), c.channels}, {shift.data(), c.channels}};
      kernel.weights = {w.data(), c.channels * 9};
      kernel.y = y.data();
      kernel.partial = partial.data();
      device.Launch(kernel, kernel.g.LaunchGrid(kLanes));
      const Values got = FromDevice(device, y.data(), static_cast<size_t>(out_count) * kLanes);
      const Values oracle = OfLanes([&](int lane) {
        const Values input = ActivatedValues(x_of(lane), scale_of(lane), shift_of(lane));
        return reference::Depthwise(in, c.stride, input, w_of(lane));
      });
      EXPECT_LT(RelativeDistance(oracle, got), kStored<T>)
          << c.batch << " " << c.channels << " " << c.size << " " << c.stride;
      const Values parts = FromDevice(
          device, partial.data(), static_cast<size_t>(kernel.g.chunks * 2 * c.channels * kLanes));
      double sum = 0, square = 0, oracle_sum = 0, oracle_square = 0;
      for (size_t i = 0; i < parts.size(); ++i) {
        (i / static_cast<size_t>(c.channels) % 2 == 0 ? sum : square) += parts[i];
      }
      for (const double value : oracle) {
        oracle_sum += value;
        oracle_square += value * value;
      }
      EXPECT_NEAR(square, oracle_square, 1e-4 * oracle_square);
      EXPECT_NEAR(sum, oracle_sum, 1e-4 * std::sqrt(oracle_square * double(oracle.size())));
    };
    c.stride == 1 ? run(DepthwiseForward<T, 1>()) : run(DepthwiseForward<T, 2>());
  }
}

template <class T, class Device>
void DepthwiseBackwardAgrees(Device& device) {
  for (const DepthwiseCase& c : kDepthwiseCases) {
    const ImageShape in = {c.batch, c.size, c.channels};
    const int out_size = reference::OutSize(c.size, c.stride);
    const int64_t in_count = int64_t{c.batch} * c.size * c.size * c.channels;
    const int64_t out_count = int64_t{c.batch} * out_size * out_size * c.channels;
    const auto x_of = [&](int lane) { return DrawValues("x", lane, in_count, 3, 1); };
    const auto w_of = [&](int lane) { return DrawValues("w", lane, c.channels * 9); };
    const auto dy_of = [&](int lane) { return DrawValues("dy", lane, out_count); };
    const Values ones(static_cast<size_t>(c.channels), 1), zeros(ones.size(), 0);
    const auto x = ToDevice<T>(device, OfLanes(x_of));
    const auto w = ToDevice<float>(device, OfLanes(w_of));
    const auto dy = ToDevice<T>(device, OfLanes(dy_of));
    const auto scale = ToDevice<float>(device, ones);  // Stride 0: all lanes the same.
    const auto shift = ToDevice<float>(device, zeros);
    const auto dz = device.template New<T>(in_count * kLanes);
    const auto run = [&](auto kernel) {
      kernel.shape = {c.batch, c.channels, c.size, out_size};
      kernel.g = kernel.shape.BackwardPieces(c.stride).Geometry(c.batch, c.channels);
      const int64_t partial_count = kernel.g.chunks * kDepthwiseSums * c.channels * kLanes;
      const auto partial = device.template New<float>(partial_count);
      kernel.dy = dy.data();
      kernel.weights = {w.data(), c.channels * 9};
      kernel.x = x.data();
      kernel.fold = {{scale.data(), 0}, {shift.data(), 0}};
      kernel.dz = dz.data();
      kernel.partial = partial.data();
      device.Launch(kernel, kernel.g.LaunchGrid(kLanes));
      const Values got = FromDevice(device, dz.data(), static_cast<size_t>(in_count) * kLanes);
      Values oracle, oracle_dw;
      for (int lane = 0; lane < kLanes; ++lane) {
        const Values z = x_of(lane);
        const auto g = reference::DepthwiseGradients(in, c.stride, reference::Relu6(z), w_of(lane),
                                                     dy_of(lane));
        const Values masked = reference::Relu6Gradient(z, g.dx);
        oracle.insert(oracle.end(), masked.begin(), masked.end());
        oracle_dw.insert(oracle_dw.end(), g.dw.begin(), g.dw.end());
      }
      EXPECT_LT(RelativeDistance(oracle, got), kStored<T>) << c.size << " " << c.stride;
      const Values parts = FromDevice(device, partial.data(), static_cast<size_t>(partial_count));
      Values dw(oracle_dw.size());
      const int64_t lane_parts = kernel.g.chunks * kDepthwiseSums * c.channels;
      for (int64_t i = 0; i < partial_count; ++i) {
        const int64_t which = i / c.channels % kDepthwiseSums;
        if (which < 2) continue;
        const int64_t at = (i / lane_parts * c.channels + i % c.channels) * 9 + which - 2;
        dw[static_cast<size_t>(at)] += parts[static_cast<size_t>(i)];
      }
      EXPECT_LT(RelativeDistance(oracle_dw, dw), 1e-5) << c.size << " " << c.stride;
    };
    c.stride == 1 ? run(DepthwiseBackward<T, 1>()) : run(DepthwiseBackward<T, 2>());
  }
}

}  // namespace tune::models::cuda
