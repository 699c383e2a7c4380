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
    std::string operator()(const LeaseKept& n) const { return "kept " + Trial(n.ref); }
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
    const auto leases =
        cluster_.Grant(ResourceRequest{}, {}, TrialNumber{trial}, AttemptNumber{1}, "");
    return leases.at(0).ref;
  }
  HeldAttempt Held(const AttemptRef& ref) const { return {ref, ResourceRequest{}.cpu_milli, {}}; }
  Notices Break(int64_t id) {
    return cluster_.Leave({WorkerId{id}, Departure::kBroken}, true, kLease, now_);
  }

  Instant now_{1'000'000};
  Transition out_;
  Cluster cluster_{out_};
};

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
  cluster_.GrantAhead(WorkerId{1}, TrialNumber{1}, AttemptNumber{1});
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
