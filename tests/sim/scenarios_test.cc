// The scripted lives, one test each.
#include "tests/sim/scenarios.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace tune::sim {
namespace {

class ScenarioTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(ScenarioTest, ComesOutAsPromised) { EXPECT_EQ(GetParam().run(false), ""); }

// "a second Ctrl-C" as a name of a test.
std::string TestName(const ::testing::TestParamInfo<Scenario>& info) {
  std::string name;
  for (const char* c = info.param.name; *c != '\0'; ++c) {
    name.push_back(std::isalnum(static_cast<unsigned char>(*c)) != 0 ? *c : '_');
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioTest, ::testing::ValuesIn(AllScenarios()), TestName);

}  // namespace
}  // namespace tune::sim
