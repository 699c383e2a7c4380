// Which address and which interface of this machine others reach it by.
#include "trial_runner/worker/own_address.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

TEST(OwnAddress, IsTheLoopbackForWhoIsThereOrNowhere) {
  EXPECT_EQ(OwnAddress("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(OwnAddress("nowhere.invalid"), "127.0.0.1");
}

TEST(OwnAddress, BelongsToAnInterface) {
  EXPECT_EQ(InterfaceOf("127.0.0.1"), "lo");
  EXPECT_NE(InterfaceOf(OwnAddress()), "");
  EXPECT_EQ(InterfaceOf("192.0.2.1"), "") << "for documentation: nobody's";
}

}  // namespace
}  // namespace tune
