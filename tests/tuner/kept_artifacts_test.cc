// What is to be done in object stores, one of which may be away.
#include "tuner/cli/keep/kept_artifacts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KeptArtifacts, AStoreThatIsAwayKeepsNoOtherOneWaiting) {
  const TempFolder folder;
  std::vector<std::string> done;  // The thread's, until it has finished.
  KeptArtifacts artifacts(folder.path());
  artifacts.DoLater("dead",
                    [](const std::stop_token&) -> Status { return Unavailable("no host"); });
  for (const char* const errand : {"first", "second"}) {
    artifacts.DoLater("alive", [&done, errand](const std::stop_token&) -> Status {
      done.emplace_back(errand);
      return OkStatus();
    });
  }
  artifacts.Finish(Seconds(60));
  EXPECT_THAT(done, ElementsAre("first", "second"));
  const std::vector<std::string> lines = artifacts.TakeLines();
  EXPECT_THAT(lines, Contains(HasSubstr("no host; it is tried again")));
  EXPECT_THAT(lines, Contains(HasSubstr("1 checkpoint could not be removed")));
}

}  // namespace
}  // namespace tune
