// Which of a head and its client is older.
#include "tuner/http/client_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "trial_runner/version.h"

namespace tune {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string kOurs = std::to_string(kClientProtocol);
const std::string kNewer = std::to_string(kClientProtocol + 1);

TEST(ClientProtocol, TheSameNumberOnBothSidesIsTaken) {
  EXPECT_TRUE(CheckClient(kOurs).ok());
  EXPECT_TRUE(CheckHead(kOurs).ok());
}

TEST(ClientProtocol, ABrowserNamesNone) { EXPECT_TRUE(CheckClient("").ok()); }

TEST(ClientProtocol, TheOlderSideIsNamedByBoth) {
  EXPECT_THAT(CheckClient(kNewer).message(), HasSubstr(": the head is older; install"));
  EXPECT_THAT(CheckHead(kNewer).message(), HasSubstr(": the client is older; install"));
  EXPECT_THAT(CheckHead("").message(), HasSubstr("it names no protocol"));
  EXPECT_THAT(CheckHead("").message(), HasSubstr("the head is older, or it is none"));
  for (const char* const bad : {"x", "-1", "0", "1x", " 1"}) {
    EXPECT_FALSE(CheckClient(bad).ok()) << bad;
    EXPECT_FALSE(CheckHead(bad).ok()) << bad;
  }
}

TEST(DescribeVersions, OfAWorkerAndItsTunerTheOlderIsNamed) {
  EXPECT_EQ(DescribeVersions("0.9.2", "0.10.0"),
            "the worker is of version 0.9.2, the tuner of version 0.10.0: the worker is older; "
            "install 0.10.0 on its machine");
  EXPECT_THAT(DescribeVersions("1.0", "0.10.0"),
              EndsWith(": the tuner is older; install 1.0 on its machine"));
  EXPECT_THAT(DescribeVersions("0.1.0+a", "0.1.0"),
              EndsWith("; install the same one on both machines"));
}

}  // namespace
}  // namespace tune
