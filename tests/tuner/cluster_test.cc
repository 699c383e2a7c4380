// The workers as one, without a sweep: what their coming and going tells of leases, and in which
// order.
#include "tuner/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tune {
namespace {

using ::testing::ElementsAre;

constexpr Duration kLease = Seconds(60);

// "lost 0", "unknown 3".
std::string ToText(const Notice& notice) {
  struct Words {
    std::string operator()(const LeaseLost& n) const { return "lost " + Trial(n.ref); }
    std::string operator()(const LeaseDropped& n) const { return "dropped " + Trial(n.ref); }
    std::string operator()(const WorkerAway&) const { return "away"; }
    std::string operator()(const WorkerBack&) const { return "back"; }
    std::string operator()(const LeaseKept& n) const { return "kept " + Trial(n.lease.ref); }
    std::string operator()(const LeaseUnsent& n) const {
      return "unsent " + Trial(n.rank.lease.ref);
    }
    std::string operator()(const LeaseUnknown& n) const { return "unknown " + Trial(n.ref); }
    std::string operator()(const WorkerLeft& n) const { return n.name + n.news; }
    static std::string Trial(const AttemptRef& ref) { return std::to_string(ref.trial.value); }
  };
  return std::visit(Words(), notice);
}

std::vector<std::string> ToTexts(const Notices& notices) {
  std::vector<std::string> texts;
  for (const Notice& notice : notices) texts.push_back(ToText(notice));
  return texts;
}

class ClusterTest : public ::testing::Test {
 protected:
  // With three CPUs.
  Notices Join(int64_t id, const std::string& session, std::vector<HeldAttempt> held = {}) {
    WorkerJoined event;
    event.worker = WorkerId{id};
    event.name = "w" + std::to_string(id);
    event.capacity.cpu_milli = 3000;
    event.is_local = session.empty();
    event.session = session;
    event.held = std::move(held);
    return cluster_.Join(event, Welcome{}, true, now_);
  }
  AttemptRef Grant(int64_t trial) {
    return cluster_.Grant(Want{}, Choice{}, {TrialNumber{trial}, AttemptNumber{1}, ""})
        .at(0)
        .lease.ref;
  }
  HeldAttempt Held(const AttemptRef& ref) const { return {ref, ResourceRequest{}.cpu_milli, {}}; }
  Notices Break(int64_t id) {
    return cluster_.Leave({WorkerId{id}, Departure::kBroken}, true, kLease, now_);
  }

  Instant now_{1'000'000};
  Transition out_;
  Cluster cluster_{out_};
};

// Of a trial that failed on worker 1, and may be put off.
Want AfterAFailure(int64_t trial) {
  return {TrialNumber{trial}, ResourceRequest{}, WorkerId{1}, /*may_be_put_off=*/true};
}

TEST_F(ClusterTest, TheFirstWantIsChosenWhereThereIsRoomAndWaitedForWhereThereIsNone) {
  const Want small = {TrialNumber{0}, ResourceRequest{}, {}, false};
  Want large = {TrialNumber{1}, ResourceRequest{}, {}, false};
  large.request.cpu_milli = 9000;
  EXPECT_FALSE(cluster_.Choose({small}, small.request).has_value()) << "no worker is there";
  Join(1, "a");
  EXPECT_FALSE(cluster_.Choose({}, small.request).has_value());
  EXPECT_EQ(cluster_.Choose({small, large}, small.request)->want, 0u);
  EXPECT_FALSE(cluster_.Choose({large, small}, small.request).has_value()) << "it gets its turn";
}

TEST_F(ClusterTest, ATrialGoesElsewhereThanWhereItFailedAndIsPutOffWhereThatIsFull) {
  Join(1, "a");
  const ResourceRequest any;
  EXPECT_THAT(cluster_.Choose({AfterAFailure(0)}, any)->except, ElementsAre())
      << "there is no other";
  Join(2, "b");
  EXPECT_THAT(cluster_.Choose({AfterAFailure(0)}, any)->except, ElementsAre(WorkerId{1}));
  EXPECT_EQ(cluster_.ChooseAhead({AfterAFailure(0), Want{}}, WorkerId{1}), 1u);
  EXPECT_EQ(cluster_.ChooseAhead({AfterAFailure(0), Want{}}, WorkerId{2}), 0u);

  // Worker 2 is full, and does better than worker 1.
  for (int64_t trial = 10; trial < 13; ++trial) {
    cluster_.Grant(Want{}, Choice{0, {WorkerId{1}}}, {TrialNumber{trial}, AttemptNumber{1}, ""});
  }
  cluster_.NoteFailedStart(WorkerId{1});
  cluster_.NoteReport(WorkerId{2});
  EXPECT_EQ(cluster_.Choose({AfterAFailure(0), AfterAFailure(1), Want{}}, any)->want, 2u);
  EXPECT_EQ(cluster_.Choose({AfterAFailure(0), AfterAFailure(1)}, any)->want, 0u)
      << "rather there than nowhere";
}

TEST_F(ClusterTest, OneThatComesBackTellsOfEachLeaseWhatBecameOfIt) {
  EXPECT_THAT(Join(1, "s"), ElementsAre());
  const AttemptRef kept = Grant(0);
  Grant(1);
  EXPECT_THAT(ToTexts(Break(1)), ElementsAre("away"));
  EXPECT_EQ(cluster_.NextReturn(), now_ + kLease);
  const AttemptRef foreign{TrialNumber{7}, AttemptNumber{1}, LeaseEpoch{70}};
  EXPECT_THAT(ToTexts(Join(2, "s", {Held(foreign), Held(kept)})),
              ElementsAre("back", "kept 0", "unsent 1", "unknown 7"));
  EXPECT_EQ(cluster_.NextReturn(), std::nullopt);
  EXPECT_FALSE(cluster_.leases().HasWorker(WorkerId{1}));
}

TEST_F(ClusterTest, OneThatDoesNotComeBackLosesWhatItHeldWhenItsTimeIsOver) {
  Join(1, "s");
  Grant(0);
  Grant(1);
  Break(1);
  now_ = now_ + Seconds(59);
  EXPECT_EQ(cluster_.EndOverdue(now_), std::nullopt);
  now_ = now_ + Seconds(1);
  const auto notices = cluster_.EndOverdue(now_);
  ASSERT_TRUE(notices.has_value());
  EXPECT_THAT(ToTexts(*notices), ElementsAre("lost 0", "lost 1"));
  EXPECT_EQ(cluster_.EndOverdue(now_), std::nullopt);
  EXPECT_EQ(out_.workers.back().state, WorkerState::kLost);
}

TEST_F(ClusterTest, ALocalOneIsNotWaitedForAndItsQueueIsDroppedAfterWhatRan) {
  Join(1, "");
  Grant(0);
  cluster_.GrantAhead(WorkerId{1}, {TrialNumber{1}, AttemptNumber{1}, ""});
  EXPECT_THAT(ToTexts(Break(1)),
              ElementsAre("lost 0", "dropped 1", "w1 is lost: its connection broke"));
  EXPECT_TRUE(cluster_.IsEmpty());
  EXPECT_THAT(Break(1), ElementsAre());  // It is gone already.
}

TEST_F(ClusterTest, OneWhoseFirstAttemptsFailIsPassedOverWhereAnotherDoesWell) {
  Join(1, "");
  Join(2, "");
  const ResourceRequest request;
  for (int i = 0; i < 5; ++i) cluster_.NoteFailedStart(WorkerId{1});
  EXPECT_THAT(cluster_.Shunned(request), ElementsAre());  // Nobody is known to do better.
  cluster_.NoteReport(WorkerId{2});
  EXPECT_THAT(cluster_.Shunned(request), ElementsAre(WorkerId{1}));
  cluster_.Drain(WorkerId{2}, now_);
  EXPECT_THAT(cluster_.Shunned(request), ElementsAre());
  cluster_.NoteReport(WorkerId{1});
  EXPECT_THAT(cluster_.Shunned(request), ElementsAre());
}

}  // namespace
}  // namespace tune
