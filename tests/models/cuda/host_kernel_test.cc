// Each kernel on the processor in the card's place, against the plain kernels.
#include <gmock/gmock.h>

#include <vector>

#include "models/cuda/host_card.h"
#include "tests/models/cuda/depthwise_cases.h"
#include "tests/models/cuda/kernel_cases.h"

namespace tune::models::cuda {
namespace {

template <class T>
class KernelsOnTheHost : public testing::Test {
 protected:
  HostCard device_;
};
using Numbers = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(KernelsOnTheHost, Numbers);

TYPED_TEST(KernelsOnTheHost, DepthwiseForward) { DepthwiseForwardAgrees<TypeParam>(this->device_); }
TYPED_TEST(KernelsOnTheHost, DepthwiseBackward) {
  DepthwiseBackwardAgrees<TypeParam>(this->device_);
}
TYPED_TEST(KernelsOnTheHost, Products) { ProductsAgree<TypeParam>(this->device_); }
TYPED_TEST(KernelsOnTheHost, BatchNorm) { BatchNormAgrees<TypeParam>(this->device_); }

// How often a pass takes each four channels of each row.
std::vector<int> TimesTaken(const RowGeometry& g, int threads) {
  const int64_t quads = CeilDivide(g.channels, kVector);
  std::vector<int> times(static_cast<size_t>(g.rows * quads), 0);
  const Grid grid = g.LaunchGrid(1);
  for (int64_t y = 0; y < grid.blocks_y; ++y) {
    for (int64_t x = 0; x < grid.blocks_x; ++x) {
      for (int index = 0; index < threads; ++index) {
        const Thread t = {static_cast<int>(x), static_cast<int>(y), 0, index};
        if (g.IsIdle(t)) continue;
        for (int64_t row = g.Begin(y) + g.Line(t); row < g.End(y); row += g.lines) {
          ++times[static_cast<size_t>(row * quads + g.Channel(t) / kVector)];
        }
      }
    }
  }
  return times;
}

TEST(RowGeometry, TakesEachRowOnceInBlocksThatAreFullAndNotTooMany) {
  const RowBlock small = {128, 16, 1, 300};
  for (const int channels : {8, 16, 24, 32, 96, 136, 144, 160, 192, 320, 576, 960, 1280}) {
    for (const int64_t rows : {1, 2, 49, 63, 1000, 5000}) {
      for (const RowBlock& block : {RowBlock(), small}) {
        const RowGeometry g = RowGeometry::Of(rows, channels, block);
        EXPECT_THAT(TimesTaken(g, block.threads), testing::Each(1)) << rows << " " << channels;
        EXPECT_LE(g.chunks, g.chunks_max);
        EXPECT_LE(g.chunks * g.tiles(), block.blocks_max);
        EXPECT_GE(g.columns * g.lines, block.threads * 7 / 8) << "idle threads " << channels;
        EXPECT_GE(RowGeometry::Of(rows + 1, channels, block).chunks_max, g.chunks);
      }
    }
  }
}

TEST(DepthwisePieces, CoverEachPixelOnceAndNeighboursAreOfNeighbouringRows) {
  for (const int size : {1, 7, 28, 29, 56, 113}) {
    constexpr int kBatch = 2;
    std::vector<int> times(static_cast<size_t>(kBatch * size * size), 0);
    const RowPieces pieces = {size, size};
    const int64_t count = pieces.Geometry(kBatch, 8).rows;
    for (int64_t number = 0; number < count; ++number) {
      const Piece piece = pieces.At(number);
      EXPECT_LE(piece.end - piece.begin, 28);
      for (int at = piece.begin; at < piece.end; ++at) {
        ++times[static_cast<size_t>((piece.image * size + piece.row) * size + at)];
      }
      const Piece next = pieces.At(number + 1);
      EXPECT_EQ(next.row, (piece.row + 1) % size);
    }
    EXPECT_THAT(times, testing::Each(1)) << size;
  }
}

TEST(WeightGradients, AreCutIntoEqualSegmentsWhereTheyHaveFewNumbersAndManyRows) {
  EXPECT_EQ(SegmentsOf(32 * 112 * 112, 32, 16), 128);
  EXPECT_EQ(SegmentsOf(32 * 7 * 7, 960, 320), 2);
  EXPECT_EQ(SegmentsOf(32 * 7 * 7, 320, 1280), 2);
  EXPECT_EQ(SegmentsOf(32, 1280, 11), 1);
  for (int64_t batch = 1; batch < 70; ++batch) {
    const int64_t rows = batch * 14 * 14;
    EXPECT_EQ(rows % SegmentsOf(rows, 96, 576), 0);
    EXPECT_LE(SegmentsOf(rows, 96, 576), SegmentsAtMost(69 * 14 * 14, 96, 576));
  }
}

TEST(WeightGradients, AddUpTheirSegmentsInOrder) {
  HostCard device;
  constexpr int64_t kSegments = 16, kCount = 300, kStride = 304;
  const auto part_of = [&](int lane) { return DrawValues("part", lane, kSegments * kCount); };
  const auto parts = ToDevice<float>(device, OfLanes(part_of));
  const auto sum = ToDevice<float>(device, Values(kStride * kLanes, -1));
  const SumSegments kernel = {parts.data(), kSegments, kCount, sum.data(), kStride};
  device.Launch(kernel, kernel.LaunchGrid(kLanes));
  const Values got = FromDevice(device, sum.data(), static_cast<size_t>(kStride) * kLanes);
  for (int lane = 0; lane < kLanes; ++lane) {
    const Values part = part_of(lane);
    for (int64_t at = 0; at < kStride; ++at) {
      float expected = at < kCount ? 0.0f : -1.0f;
      for (int64_t s = 0; at < kCount && s < kSegments; ++s) {
        expected += static_cast<float>(part[static_cast<size_t>(s * kCount + at)]);
      }
      EXPECT_EQ(got[static_cast<size_t>(lane * kStride + at)], expected);
    }
  }
}

TEST(Bf16Numbers, RoundToTheNearestEvenAndKeepWhatIsNoNumber) {
  EXPECT_EQ(RoundToBf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(RoundToBf16(1.00390625f).bits, 0x3f80);  // Half way between 1 and 1.0078125: to even.
  EXPECT_EQ(RoundToBf16(1.01171875f).bits, 0x3f82);  // Half way again.
  EXPECT_EQ(RoundToBf16(1.00390637f).bits, 0x3f81);  // A bit above half way.
  EXPECT_EQ(RoundToBf16(-2.5f).bits, 0xc020);
  EXPECT_EQ(RoundToBf16(3.4e38f).bits, 0x7f80);  // Beyond the largest: infinite.
  EXPECT_TRUE(std::isnan(ToFloat(RoundToBf16(std::nanf("")))));
  EXPECT_EQ(ToFloat(RoundToBf16(0.15625f)), 0.15625f);
}

TEST(KeyedDraws, AreThoseOfKeyedRandom) {
  KeyedRandom random(7, "dropout", 3);
  const uint64_t key = random.key();
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(KeyedDouble(key, i), random.NextDouble());
}

}  // namespace
}  // namespace tune::models::cuda
