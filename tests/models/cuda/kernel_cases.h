// What each kernel must do on any Device of models/cuda/lane_network.h, against the plain kernels:
// called with the processor in the card's place, and with a card.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "models/cpu/head.h"
#include "models/cpu/reference.h"
#include "models/cuda/card_network.h"

namespace tune::models::cuda {

using reference::ImageShape;
using reference::Values;

inline constexpr int kLanes = 3;  // Each lane has numbers of its own.

// Of one lane, values that a bfloat16 holds exactly, so that both number kinds have one oracle.
inline Values DrawValues(const std::string& name, int lane, int64_t count, double scale = 1,
                         double offset = 0) {
  KeyedRandom random(static_cast<uint64_t>(lane), name);
  Values values(static_cast<size_t>(count));
  for (double& value : values) {
    value = ToFloat(RoundToBf16(static_cast<float>(random.NextUniform(-scale, scale) + offset)));
  }
  return values;
}

// Lanes one after the other, from f(lane).
template <class F>
Values OfLanes(F&& f) {
  Values all;
  for (int lane = 0; lane < kLanes; ++lane) {
    const Values one = f(lane);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

template <class T, class Device>
auto ToDevice(Device& device, const Values& values) {
  std::vector<T> numbers(values.size());
  for (size_t i = 0; i < values.size(); ++i) Put(static_cast<float>(values[i]), &numbers[i]);
  auto array = device.template New<T>(static_cast<int64_t>(numbers.size()));
  device.Upload(numbers.data(), static_cast<int64_t>(numbers.size()), array.data());
  return array;
}

template <class T, class Device>
Values FromDevice(Device& device, const T* data, size_t count) {
  std::vector<T> numbers(count);
  device.Download(data, static_cast<int64_t>(count), numbers.data());
  EXPECT_TRUE(device.Finish().ok()) << device.status().message();
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = ToFloat(numbers[i]);
  return values;
}

// The distance relative to the oracle's length; NaN stays NaN.
inline double RelativeDistance(const Values& oracle, const Values& got) {
  TUNE_CHECK(oracle.size() == got.size());
  double square = 0, length = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    square += (oracle[i] - got[i]) * (oracle[i] - got[i]);
    length += oracle[i] * oracle[i];
  }
  return std::sqrt(square / (length + 1e-30));
}

// Rounding of what is stored: a bfloat16 has 8 bits.
template <class T>
constexpr double kStored = sizeof(T) == 4 ? 2e-6 : 4e-3;

// The three products, rows and widths odd in all ways that the network has.
template <class T, class Device>
void ProductsAgree(Device& device) {
  const ProductShape shapes[] = {
      {5, 16, 24, kLanes}, {49, 960, 16, kLanes}, {3, 32, 8, kLanes}, {64, 8, 48, kLanes}};
  for (const ProductShape& s : shapes) {
    const auto x_of = [&](int lane) { return DrawValues("x", lane, s.rows * s.in); };
    const auto w_of = [&](int lane) { return DrawValues("w", lane, int64_t{s.out} * s.in); };
    const auto dy_of = [&](int lane) { return DrawValues("dy", lane, s.rows * s.out); };
    const auto x = ToDevice<T>(device, OfLanes(x_of));
    const auto w = ToDevice<T>(device, OfLanes(w_of));
    const auto dy = ToDevice<T>(device, OfLanes(dy_of));
    const auto y = device.template New<T>(s.rows * s.out * kLanes);
    const auto dx = device.template New<T>(s.rows * s.in * kLanes);
    const auto dw = device.template New<float>(int64_t{s.out} * s.in * kLanes);
    const LaneMatrix<const T> x_lanes = {x.data(), s.rows * s.in};
    const LaneMatrix<const T> w_lanes = {w.data(), int64_t{s.out} * s.in};
    const LaneMatrix<const T> dy_lanes = {dy.data(), s.rows * s.out};
    device.template Forward<T>(s, x_lanes, w_lanes, {y.data(), s.rows * s.out});
    device.template InputGradient<T>(s, dy_lanes, w_lanes, {dx.data(), s.rows * s.in});
    device.template WeightGradient<T>(s, dy_lanes, x_lanes, {dw.data(), int64_t{s.out} * s.in});
    Values oracle_dx, oracle_dw;
    const Values oracle_y = OfLanes([&](int lane) {
      const auto g =
          reference::Conv1x1Gradients(s.rows, s.in, s.out, x_of(lane), w_of(lane), dy_of(lane));
      oracle_dx.insert(oracle_dx.end(), g.dx.begin(), g.dx.end());
      oracle_dw.insert(oracle_dw.end(), g.dw.begin(), g.dw.end());
      return reference::Conv1x1(s.rows, s.in, s.out, x_of(lane), w_of(lane));
    });
    EXPECT_LT(RelativeDistance(oracle_y, FromDevice(device, y.data(), oracle_y.size())),
              kStored<T>);
    EXPECT_LT(RelativeDistance(oracle_dx, FromDevice(device, dx.data(), oracle_dx.size())),
              kStored<T>);
    EXPECT_LT(RelativeDistance(oracle_dw, FromDevice(device, dw.data(), oracle_dw.size())), 2e-6);
  }
}

// Batch norm with ReLU6, forward and backward, through the passes and the sums, over row counts
// that leave chunks of uneven length.
template <class T, class Device>
void BatchNormAgrees(Device& device) {
  struct Case {
    int64_t rows;
    int channels;
  };
  for (const Case& c : {Case{2, 8}, Case{7, 24}, Case{1000, 16}, Case{333, 136}, Case{40, 1280}}) {
    const int64_t count = c.rows * c.channels;
    const auto y_of = [&](int lane) { return DrawValues("y", lane, count, 2, lane); };
    const auto dx_of = [&](int lane) { return DrawValues("dx", lane, count); };
    const auto scale_of = [&](int lane) { return DrawValues("scale", lane, c.channels, 1, 2); };
    const auto shift_of = [&](int lane) { return DrawValues("shift", lane, c.channels, 1, 1); };
    const Values ones(static_cast<size_t>(c.channels) * kLanes, 1);
    const auto y = ToDevice<T>(device, OfLanes(y_of));
    const auto dy = ToDevice<T>(device, OfLanes(dx_of));  // dx, and dy in its place.
    const auto x = device.template New<T>(count * kLanes);
    const auto scale = ToDevice<float>(device, OfLanes(scale_of));
    const auto shift = ToDevice<float>(device, OfLanes(shift_of));
    const auto mean = ToDevice<float>(device, Values(ones.size(), 0));
    const auto variance = ToDevice<float>(device, ones);
    NormArrays<Device> arrays(device, c.channels, kLanes);
    const LayerPlace place;
    const RowGeometry g = RowGeometry::Of(c.rows, c.channels);
    const auto partial = device.template New<float>(g.chunks * 2 * c.channels * kLanes);
    const auto channel = [&](const auto& array) { return ChannelFloats{array.data(), c.channels}; };
    device.Launch(SumPass<Moments<T>>{{y.data()}, g, partial.data()}, g.LaunchGrid(kLanes));
    const FinishForward forward = {
        c.rows,
        {channel(scale), channel(shift), channel(mean), channel(variance)},
        arrays.Fold(place),
        arrays.Moments(place)};
    const FinishSums<FinishForward> finish = {forward, partial.data(), g.chunks, c.channels};
    device.Launch(finish, finish.LaunchGrid(kLanes));
    device.Launch(RowPass<Activate<T>>{{y.data(), arrays.Fold(place), x.data()}, g},
                  g.LaunchGrid(kLanes));
    device.Launch(
        SumPass<MaskedSums<T>>{{y.data(), arrays.Fold(place), dy.data()}, g, partial.data()},
        g.LaunchGrid(kLanes));
    const auto scale_gradient = device.template New<float>(int64_t{c.channels} * kLanes);
    const auto shift_gradient = device.template New<float>(int64_t{c.channels} * kLanes);
    const FinishBackward backward = {c.rows,
                                     channel(scale),
                                     arrays.Moments(place),
                                     channel(scale_gradient),
                                     channel(shift_gradient),
                                     arrays.Gradient(place)};
    const FinishSums<FinishBackward> finish_back = {backward, partial.data(), g.chunks, c.channels};
    device.Launch(finish_back, finish_back.LaunchGrid(kLanes));
    device.Launch(
        RowPass<MaskedNormBackward<T>>{
            {y.data(), arrays.Fold(place), arrays.Gradient(place), dy.data()}, g},
        g.LaunchGrid(kLanes));

    Values oracle_x, oracle_dy, oracle_scale, oracle_mean;
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto statistics = reference::BatchNormStatistics(c.channels, y_of(lane));
      const Values z =
          reference::BatchNorm(c.channels, y_of(lane), statistics, scale_of(lane), shift_of(lane));
      const auto gradients = reference::BatchNormGradients(
          c.channels, y_of(lane), scale_of(lane), reference::Relu6Gradient(z, dx_of(lane)));
      const Values activated = reference::Relu6(z);
      oracle_x.insert(oracle_x.end(), activated.begin(), activated.end());
      oracle_dy.insert(oracle_dy.end(), gradients.dx.begin(), gradients.dx.end());
      oracle_scale.insert(oracle_scale.end(), gradients.scale.begin(), gradients.scale.end());
      for (const double m : statistics.mean) oracle_mean.push_back(0.1 * m);
    }
    const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-2;
    EXPECT_LT(RelativeDistance(oracle_x, FromDevice(device, x.data(), oracle_x.size())), tolerance)
        << c.rows;
    EXPECT_LT(RelativeDistance(oracle_mean, FromDevice(device, mean.data(), oracle_mean.size())),
              1e-5);
    EXPECT_LT(RelativeDistance(oracle_scale,
                               FromDevice(device, scale_gradient.data(), oracle_scale.size())),
              tolerance)
        << c.rows;
    if (c.rows > 2) {  // Of two rows, a gradient through batch norm is nothing but rounding.
      EXPECT_LT(RelativeDistance(oracle_dy, FromDevice(device, dy.data(), oracle_dy.size())),
                tolerance)
          << c.rows;
    }
  }
}

}  // namespace tune::models::cuda
