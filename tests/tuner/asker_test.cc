// For whom is asked, and what each may.
#include "tuner/control/asker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tune {
namespace {

using ::testing::HasSubstr;

ControlRequest Asked(ControlVerb verb, std::optional<Asker> by) {
  ControlRequest request;
  request.sweep = "food11";
  request.verb = verb;
  request.by = std::move(by);
  return request;
}

const Asker kAda{"ada", false};
const Asker kRoot{"root", true};
const Asker kViewer{"", false};

constexpr ControlVerb kOfASweep[] = {
    ControlVerb::kPause,  ControlVerb::kUnpause, ControlVerb::kStop, ControlVerb::kSet,
    ControlVerb::kResume, ControlVerb::kDelete,  ControlVerb::kNote};
constexpr ControlVerb kOfThePool[] = {ControlVerb::kDrain, ControlVerb::kClusterDown,
                                      ControlVerb::kClusterSet};
constexpr ControlVerb kTelling[] = {
    ControlVerb::kState, ControlVerb::kDevices, ControlVerb::kWorkers, ControlVerb::kWaiting,
    ControlVerb::kQueue, ControlVerb::kTraffic, ControlVerb::kCluster, ControlVerb::kStates};

TEST(Asker, AUserChangesWhatIsHisOwnAlone) {
  for (const ControlVerb verb : kOfASweep) {
    EXPECT_TRUE(MayAsk(Asked(verb, kAda), "ada").ok()) << ControlVerbName(verb);
    const Status of_another = MayAsk(Asked(verb, kAda), "bob");
    EXPECT_EQ(of_another.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(of_another.message(), HasSubstr("food11 is bob's"));
    EXPECT_THAT(MayAsk(Asked(verb, kAda), "").message(), HasSubstr("food11 is nobody's"));
  }
  EXPECT_TRUE(MayAsk(Asked(ControlVerb::kSubmit, kAda), "").ok());
  for (const ControlVerb verb : kOfThePool) {
    EXPECT_FALSE(MayAsk(Asked(verb, kAda), "ada").ok()) << ControlVerbName(verb);
  }
  ControlRequest set = Asked(ControlVerb::kSet, kAda);
  set.settings = {"priority=5", "owner=bob"};
  EXPECT_THAT(MayAsk(set, "ada").message(), HasSubstr("an owner is changed by an admin's"));
}

TEST(Asker, AnAdminAndTheTunersOwnUserChangeAllAndAViewerNothing) {
  for (const ControlVerb verb : kOfASweep) {
    EXPECT_TRUE(MayAsk(Asked(verb, kRoot), "bob").ok());
    EXPECT_TRUE(MayAsk(Asked(verb, std::nullopt), "bob").ok());
    EXPECT_FALSE(MayAsk(Asked(verb, kViewer), "").ok()) << ControlVerbName(verb);
  }
  for (const ControlVerb verb : kOfThePool) {
    EXPECT_TRUE(MayAsk(Asked(verb, kRoot), "").ok());
    EXPECT_TRUE(MayAsk(Asked(verb, std::nullopt), "").ok());
  }
  EXPECT_FALSE(MayAsk(Asked(ControlVerb::kSubmit, kViewer), "").ok());
  for (const ControlVerb verb : kTelling) EXPECT_TRUE(MayAsk(Asked(verb, kViewer), "bob").ok());
}

TEST(Asker, AProgramAsksForWhomItsVariableNamesAndAPartOfItForAnother) {
  EXPECT_EQ(AsksFor(), std::nullopt);
  EXPECT_TRUE(MayChangeAlone().ok());
  {
    const AskingFor asking(kAda);
    EXPECT_EQ(AsksFor(), kAda);
    EXPECT_EQ(MayChangeAlone().code(), StatusCode::kPermissionDenied);
    const AskingFor other(kRoot);
    EXPECT_TRUE(MayChangeAlone().ok());
  }
  EXPECT_EQ(AsksFor(), std::nullopt);
  EXPECT_EQ(ToVariable(kAda), "user ada");
  EXPECT_EQ(ToVariable(kRoot), "admin root");
}

TEST(Change, IsDescribedAsTheCommandLineSaysIt) {
  ControlRequest stop = Asked(ControlVerb::kStop, kAda);
  stop.trial = TrialNumber{3};
  stop.now = true;
  EXPECT_EQ(DescribeChange(stop), "stop trial 3 now");
  ControlRequest set = Asked(ControlVerb::kSet, kAda);
  set.settings = {"limits.max_concurrent=4", "priority=1"};
  EXPECT_EQ(DescribeChange(set), "set limits.max_concurrent=4 priority=1");
  ControlRequest resume = Asked(ControlVerb::kResume, kAda);
  resume.samples = 20;
  resume.errored = true;
  EXPECT_EQ(DescribeChange(resume), "resume samples 20 errored");
}

}  // namespace
}  // namespace tune
