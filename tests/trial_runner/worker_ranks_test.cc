// What a worker does about ranks of users' programs: where they meet, who waits for whom, and how
// they end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "core/limits.h"
#include "tests/trial_runner/worker_core_fixture.h"

namespace tune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WorkerRanks : public WorkerCoreTest {
 protected:
  void JoinWith(bool is_port_free, bool is_local = true) {
    WorkerCore::Options options;
    options.hello = Greeting();
    options.is_local = is_local;
    options.address = "10.0.0.7";
    options.claim_port = [this, is_port_free](int64_t port) -> Result<std::shared_ptr<const void>> {
      if (!is_port_free && port == 20'123) return FailedPrecondition("is in use");
      const auto claim = std::make_shared<const int64_t>(port);
      claim_ = claim;
      return std::shared_ptr<const void>(claim);
    };
    core_.emplace(std::move(options));
    core_->Begin();
    Tell(WelcomeTo({SweepOf(R"({"command":["train"]})")}));
    core_->TakeEffects();
  }
  std::weak_ptr<const int64_t> claim_;  // The last one.

  static StartAttempt Rank(int64_t rank, int64_t attempt = 1) {
    StartAttempt start = Start(Ref(0, attempt, 10 * attempt + rank));
    start.rank = rank;
    start.world_size = 2;
    start.group = {rank, 2, 0, 1, {}, "", 20'123};
    return start;
  }
  // Of the last start that was written: where its ranks meet.
  std::string Meeting() {
    std::string text;
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const written = std::get_if<WriteToProcess>(&effect);
      if (written == nullptr) continue;
      const auto read =
          ParseToTrial(std::string_view(written->line).substr(0, written->line.size() - 1));
      const RankGroup& group = std::get<TrialStart>(*read).group;
      text = group.master_address + " " + std::to_string(group.master_port);
    }
    return text;
  }
};

TEST_F(WorkerRanks, OfOneWorkerMeetOnItsLoopbackAndOthersAtTheFirstOnesAddress) {
  JoinWith(true);
  Tell(Rank(0));
  EXPECT_EQ(Meeting(), "127.0.0.1 20123");
  StartAttempt first = Rank(0, 2);
  first.is_spread = true;
  first.group.node_count = 2;
  first.group.master_address = "10.0.0.8";
  Tell(first);
  EXPECT_EQ(Meeting(), "10.0.0.8 20123");
}

// That is no fault of the trial's: it begins again, with another port.
TEST_F(WorkerRanks, DoNotBeginWhereAnotherProgramHasTheirPort) {
  JoinWith(false);
  Tell(Rank(0));
  EXPECT_THAT(Effects(), ElementsAre(HasSubstr("ended 0 lost: its ranks cannot meet: port 20123 of "
                                               "this machine (MASTER_PORT) is in use")));
  Tell(Rank(1, 2));  // The first one of those may run elsewhere, and listens there.
  EXPECT_THAT(Effects(), Contains(HasSubstr("start ")));
}

// Another sweep's might be drawn the same, and its ranks would meet these.
TEST_F(WorkerRanks, HaveTheirPortUntilTheFirstOfThemHasEnded) {
  JoinWith(true);
  Tell(Rank(0));
  EXPECT_FALSE(claim_.expired());
  Line(1, R"({"end":{"outcome":"completed","error":""}})");
  Ended(1, {});
  EXPECT_TRUE(claim_.expired());
}

TEST_F(WorkerRanks, AreEndedWhereTheyDoNotEndByThemselvesInTime) {
  JoinWith(true);
  Tell(Rank(1));
  Effects();
  Tell(KillAttempt{Rank(1).ref, false, 5'000});
  EXPECT_THAT(Effects(), IsEmpty());
  Pass(Milliseconds(4'999));
  EXPECT_THAT(Effects(), Not(Contains("term 1")));
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), Contains("term 1"));
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), Contains("kill 1"));
}

TEST_F(WorkerRanks, ThatEndByThemselvesInTimeSayHow) {
  JoinWith(true);
  Tell(Rank(1));
  Effects();
  Tell(KillAttempt{Rank(1).ref, false, 5'000});
  Line(1, R"({"end":{"outcome":"completed","error":"values of other ranks: two"}})");
  EXPECT_THAT(Effects(), ElementsAre("ended 0 completed: values of other ranks: two"));
}

TEST_F(WorkerRanks, AreEndedAtOnceWhenTheyAreToldSoMeanwhile) {
  JoinWith(true);
  Tell(Rank(1));
  Effects();
  Tell(KillAttempt{Rank(1).ref, false, 30'000});
  Tell(KillAttempt{Rank(1).ref, true});
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
}

// One copy of a checkpoint, and of what earlier attempts left, is enough for a machine: two would
// be written over each other.
TEST_F(WorkerRanks, WaitForWhatTheFirstOfThemHereGoesOnFrom) {
  finds_places_ = false;
  JoinWith(true, false);
  for (const int64_t rank : {0, 1}) {
    StartAttempt start = Rank(rank, 2);
    start.checkpoint_path = "/a/0/checkpoint_000001";
    start.from_iteration = 1;
    Tell(start);
  }
  Effects();
  core_->OnPlace({}, {{}, "", "/a"}, FoundPlace{{}, "/c", CheckpointStorage::kTuner}, now_);
  EXPECT_THAT(Effects(), ElementsAre("obtain /a/0/checkpoint_000001, files /a/0 to /c/0"));
  core_->OnCheckpointObtained(Rank(0, 2).ref, CheckpointCopy{"/c/0/checkpoint_000001", "sha"},
                              now_);
  EXPECT_THAT(Effects(), ElementsAre("log 1 /c/0/attempt_2.log", "start 1 trial 0",
                                     "obtain /a/0/checkpoint_000001, here /c/0/checkpoint_000001"));
  core_->OnCheckpointObtained(Rank(1, 2).ref, CheckpointCopy{"/c/0/checkpoint_000001", "sha"},
                              now_);
  EXPECT_THAT(Effects(), ElementsAre("log 2 /c/0/attempt_2_rank_1.log", "start 2 trial 0"));
}

// What ranks of several workers would write for each other there, nobody else sees.
TEST_F(WorkerRanks, AreToldWhereTheArtifactFolderIsThisMachinesAlone) {
  const auto is_told = [this] {
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const written = std::get_if<WriteToProcess>(&effect);
      if (written == nullptr) continue;
      const auto read =
          ParseToTrial(std::string_view(written->line).substr(0, written->line.size() - 1));
      return std::get<TrialStart>(*read).place.has_own_artifacts;
    }
    ADD_FAILURE() << "nothing began";
    return false;
  };
  for (const CheckpointStorage storage :
       {CheckpointStorage::kTuner, CheckpointStorage::kSharedFolder}) {
    finds_places_ = false;
    JoinWith(true, false);
    Tell(Rank(0));
    Effects();
    core_->OnPlace({}, {{}, "", "/a"}, FoundPlace{{}, "/c", storage}, now_);
    EXPECT_EQ(is_told(), storage == CheckpointStorage::kTuner);
  }
}

}  // namespace
}  // namespace tune
