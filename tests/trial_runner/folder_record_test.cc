#include "trial_runner/command/folder_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FolderRecordTest : public testing::Test {
 protected:
  static FolderMember Member(int number, const std::string& sweep = "/a/sweep",
                             std::vector<std::string> metric_files = {}) {
    return {sweep + "/" + std::to_string(number), sweep, 100 + number, std::move(metric_files)};
  }

  // Each step reads the record that another process wrote.
  void Reload() {
    Result<FolderRecord> again = FolderRecord::Parse(record_.Encode());
    ASSERT_TRUE(again.ok()) << again.status().message();
    record_ = *std::move(again);
  }
  // `changed`: files that were found changed when this happened.
  void Begin(int number, const std::vector<std::string>& changed = {}) {
    Look(changed);
    record_.OnBegin(Member(number));
    Reload();
  }
  std::vector<std::string> End(int number, const std::vector<std::string>& changed = {}) {
    record_.OnEnd(Member(number).trial);
    Look(changed);
    Reload();
    std::vector<std::string> shared = record_.TakeShared("/a/sweep");
    Reload();
    return shared;
  }
  void Look(const std::vector<std::string>& changed, bool has_only_grown = false) {
    std::vector<SeenFile> seen;
    for (const std::string& name : changed) {
      seen.push_back({name, 1, 10, ++time_, has_only_grown, "tail"});
    }
    record_.OnLook(seen);
  }

  FolderRecord record_{5};
  int64_t time_ = 0;
};

TEST_F(FolderRecordTest, AFileThatTrialsSideBySideWriteIsSharedAndToldOnce) {
  Begin(0);
  Begin(7);
  EXPECT_THAT(End(7), IsEmpty());
  EXPECT_THAT(End(0, {"best.pt"}), IsEmpty());
  Begin(1);
  EXPECT_THAT(End(1, {"best.pt"}), ElementsAre("best.pt"));
  Begin(2);
  EXPECT_THAT(End(2, {"best.pt"}), IsEmpty());
}

TEST_F(FolderRecordTest, OfTrialsOneAfterTheOtherNoFileIsTold) {
  for (int number = 0; number < 3; ++number) {
    Begin(number);
    EXPECT_THAT(End(number, {"best.pt"}), IsEmpty());
  }
}

TEST_F(FolderRecordTest, AFileOfOneSweepIsToldToThatSweep) {
  record_.OnBegin(Member(0));
  record_.OnBegin(Member(0, "/b/other"));
  record_.OnEnd("/b/other/0");
  Look({"best.pt"});
  record_.OnEnd("/a/sweep/0");
  Look({"best.pt"});
  record_.OnBegin(Member(1));
  Look({"best.pt"});
  Reload();
  EXPECT_THAT(record_.TakeShared("/b/other"), IsEmpty());
  EXPECT_THAT(record_.TakeShared("/a/sweep"), ElementsAre("best.pt"));
}

TEST_F(FolderRecordTest, AFileThatOneTrialMayHaveWrittenAloneIsNotShared) {
  Begin(0);
  Begin(1);
  EXPECT_THAT(End(0, {"1.pt"}), IsEmpty());
  Begin(2, {"1.pt"});
  EXPECT_THAT(End(2, {"1.pt"}), IsEmpty());
  EXPECT_THAT(End(1, {"1.pt"}), IsEmpty());
}

TEST_F(FolderRecordTest, AFileThatTwoWavesOfTrialsWriteIsShared) {
  Begin(0);
  Begin(1);
  End(0, {"best.pt"});
  End(1, {"best.pt"});
  Begin(2);
  Begin(3);
  EXPECT_THAT(End(2, {"best.pt"}), ElementsAre("best.pt"));
}

TEST_F(FolderRecordTest, WhatChangesWhileNoTrialRunsIsNobodys) {
  Begin(0);
  End(0, {"notes.txt"});
  Begin(1, {"notes.txt"});  // A person wrote it in between.
  EXPECT_THAT(End(1), IsEmpty());
}

TEST_F(FolderRecordTest, EachOfTwoSweepsIsToldOfAFileThatBothWrote) {
  record_.OnBegin(Member(0));
  record_.OnBegin(Member(0, "/b/other"));
  for (int number = 0; number < 2; ++number) {
    for (const char* const sweep : {"/a/sweep", "/b/other"}) {
      record_.OnEnd(Member(number, sweep).trial);
      Look({"model.json"});
      record_.OnBegin(Member(number + 1, sweep));
    }
  }
  Reload();
  EXPECT_THAT(record_.TakeShared("/a/sweep"), ElementsAre("model.json"));
  Reload();
  EXPECT_THAT(record_.TakeShared("/b/other"), ElementsAre("model.json"));
  Reload();
  EXPECT_THAT(record_.TakeShared("/a/sweep"), IsEmpty());
}

TEST_F(FolderRecordTest, ALogToWhichAllAddIsNoSharedFile) {
  Begin(0);
  EXPECT_THAT(End(0, {"all.txt"}), IsEmpty());
  Begin(1);
  record_.OnEnd(Member(1).trial);
  Look({"all.txt"}, /*has_only_grown=*/true);
  EXPECT_THAT(record_.TakeShared("/a/sweep"), IsEmpty());
}

TEST_F(FolderRecordTest, ATrialThatWasNotLookedAtWhenItEndedMayHaveWrittenTheNextChange) {
  Begin(0);
  End(0, {"1.pt"});
  Begin(1);
  record_.OnEnd(Member(1).trial);  // No look.
  Reload();
  record_.OnBegin(Member(2));
  EXPECT_THAT(End(2, {"2.pt"}), IsEmpty());
  Begin(1);
  EXPECT_THAT(End(1, {"2.pt"}), IsEmpty()) << "it may be trial 1's alone";
}

TEST_F(FolderRecordTest, ATrialWhoseProcessIsGoneRunsNoMore) {
  Begin(7);
  Begin(0);
  End(7);
  record_.OnGone(100);
  Begin(1, {"best.pt"});
  EXPECT_THAT(record_.processes(), ElementsAre(101));
  EXPECT_THAT(End(1, {"best.pt"}), ElementsAre("best.pt"));
}

TEST_F(FolderRecordTest, OfAFolderThatIsTooLargeNothingIsTold) {
  Begin(0);
  End(0, {"best.pt"});
  record_.GiveUp();
  Reload();
  EXPECT_TRUE(record_.has_given_up());
}

TEST_F(FolderRecordTest, ItIsOverWhenNobodyRunsAndAnotherSweepBegins) {
  Begin(0);
  EXPECT_FALSE(record_.IsOver(Member(0, "/b/other")));
  End(0);
  EXPECT_TRUE(record_.IsOver(Member(0, "/b/other")));
  EXPECT_FALSE(record_.IsOver(Member(7)));
}

TEST_F(FolderRecordTest, TrialsWithOneMetricFileAreRivalsWhileTheyRun) {
  record_.OnBegin(Member(0, "/a/sweep", {"/w/r.json"}));
  record_.OnBegin(Member(0, "/a/sweep", {"/w/r.json"}));
  EXPECT_FALSE(record_.RivalOf("/a/sweep/0")) << "another rank of it";
  record_.OnBegin(Member(1, "/a/sweep", {"/w/r.json"}));
  ASSERT_TRUE(record_.RivalOf("/a/sweep/0"));
  EXPECT_EQ(record_.RivalOf("/a/sweep/0")->sweep, "/a/sweep");
  ASSERT_TRUE(record_.RivalOf("/a/sweep/1"));
  record_.OnEnd("/a/sweep/0");
  record_.OnEnd("/a/sweep/1");
  record_.OnBegin(Member(0, "/a/sweep", {"/w/r.json"}));
  EXPECT_FALSE(record_.RivalOf("/a/sweep/0")) << "one after the other";
  record_.OnBegin(Member(0, "/b/other", {"/w/own.json"}));
  EXPECT_FALSE(record_.RivalOf("/a/sweep/0")) << "another file";
  record_.OnBegin(Member(1, "/b/other", {"/w/r.json"}));
  record_.OnEnd("/b/other/1");
  Reload();
  ASSERT_TRUE(record_.RivalOf("/a/sweep/0"));
  EXPECT_EQ(record_.RivalOf("/a/sweep/0")->sweep, "/b/other");
  EXPECT_EQ(record_.RivalOf("/a/sweep/0")->file, "/w/r.json");
}

TEST_F(FolderRecordTest, TheSameBytesUnderAnotherConfigurationAreTheFirstTrials) {
  EXPECT_EQ(record_.OnMetricFile("/w/r.json", {"bytes", "/a/sweep/0", "x=1"}), "");
  Reload();
  EXPECT_EQ(record_.OnMetricFile("/w/r.json", {"bytes", "/a/sweep/1", "x=1"}), "");
  EXPECT_EQ(record_.OnMetricFile("/w/r.json", {"bytes", "/a/sweep/2", "x=2"}), "/a/sweep/1");
  EXPECT_EQ(record_.OnMetricFile("/w/r.json", {"bytes", "/a/sweep/3", "x=3"}), "/a/sweep/1");
  EXPECT_EQ(record_.OnMetricFile("/w/r.json", {"other", "/a/sweep/4", "x=4"}), "");
}

TEST_F(FolderRecordTest, ARecordOfAnEarlierVersionIsRead) {
  std::string text = record_.Encode();
  const std::string added = "\"has_run_side_by_side\":false,";
  ASSERT_NE(text.find(added), std::string::npos) << text;
  text.erase(text.find(added), added.size());
  EXPECT_TRUE(FolderRecord::Parse(text).ok());
}

TEST_F(FolderRecordTest, WhatIsNoRecordIsRefused) {
  for (const char* const text : {"", "{", "{}", "[]", R"({"begun_ns":"x"})"}) {
    EXPECT_FALSE(FolderRecord::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace tune
