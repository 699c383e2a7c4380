// Each kernel on the processor in the card's place, against the plain kernels.
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
