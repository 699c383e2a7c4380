// A head whose database's disk has room for a little more, page by page: whatever it is at, it goes
// on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "core/posix/real_clock.h"
#include "tests/small_disk.h"
#include "tests/tuner/head_sweeps_world.h"
#include "tuner/cli/keep/emptying_storages.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/control/control_client.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBytes = 64 << 20;
constexpr int64_t kPageBytes = 4096;

class HeadOnFullDisk : public HeadSweepsTest {
 protected:
  HeadOnFullDisk() : HeadSweepsTest("small"), disk_(folder_ / "small", kBytes) {}
  void SetUp() override {
    if (!disk_.is_mounted()) GTEST_SKIP() << disk_.why_not();
    Begin();
  }
  void TearDown() override { life_.reset(); }

  void LeaveRoom(int64_t pages) const {
    const fs::space_info space = fs::space(folder_ / "small");
    disk_.Resize(static_cast<int64_t>(space.capacity - space.free) + pages * kPageBytes);
  }
  void MakeRoom() { disk_.Resize(kBytes); }
  // What is held is committed.
  void GoOn() {
    now() = now() + Seconds(2);
    ASSERT_TRUE(life_->tuner.Step(now()).ok());
    ASSERT_FALSE(life_->tuner.is_held());
  }

  const SmallDisk disk_;
};

TEST_F(HeadOnFullDisk, ASubmissionEndsNoHeadWhereverItFindsNoRoom) {
  bool was_held = false;
  // What finds no room has made the log longer all the same, and the next one comes further.
  for (int tries = 0; tries < 200; ++tries) {
    const std::string name = "s" + std::to_string(tries);
    LeaveRoom(1);
    const auto submitted = TrySubmit(name);
    ASSERT_NE(submitted.status().code(), StatusCode::kInternal) << submitted.status().message();
    const bool is_held = life_->tuner.is_held();
    MakeRoom();
    if (is_held) GoOn();
    was_held = was_held || is_held;
    EXPECT_EQ(IsOpen(name), submitted.ok()) << name;
    if (submitted.ok() && !is_held) break;
  }
  EXPECT_TRUE(was_held);
}

TEST_F(HeadOnFullDisk, ARefusedChangeThatCannotBeForgottenEndsNoHead) {
  Submit("s");
  ControlDesk desk(artifacts_dir_, {life_->controller, life_->tuner, life_->queue, clock_,
                                    *life_->doors, *life_->store, &sweeps()});
  ASSERT_TRUE(desk.status().ok()) << desk.status().message();
  ControlRequest request;
  request.verb = ControlVerb::kResume;
  request.tuner = getpid();
  request.sweep = "s";
  for (int64_t pages = 0; pages < 12; ++pages) {
    LeaveRoom(pages);
    std::atomic<bool> is_answered = false;
    std::jthread asks([&] {
      const RealClock clock;
      const auto answer = AskTuner(artifacts_dir_, request, clock, Seconds(60));
      EXPECT_TRUE(answer.ok() && !answer->status.ok());
      is_answered = true;
    });
    while (!is_answered) {
      const Status served = desk.Serve();
      EXPECT_TRUE(served.ok()) << "with " << pages << " pages: " << served.message();
    }
    MakeRoom();
  }
}

TEST_F(HeadOnFullDisk, AStorageThatIsEmptiedEndsNoHeadAndIsForgottenOnceThereIsRoom) {
  NewExperiment wanted;
  wanted.name = "s";
  wanted.metric = "value";
  wanted.mode = "max";
  wanted.spec = R"({"name": "s", "metric": "value", "mode": "max",
                    "checkpoint": {"storage": "s3://bucket/prefix"}})";
  const auto experiment = life_->store->CreateExperiment(wanted);
  ASSERT_TRUE(experiment.ok());
  ASSERT_TRUE(life_->store->DeleteExperiment(*experiment).ok());
  const auto left = [this] {
    const auto database = OpenForQueries(db_path_);
    EXPECT_TRUE(database.ok());
    const auto storages = ReadLeft(**database);
    EXPECT_TRUE(storages.ok());
    return *storages;
  };
  ASSERT_THAT(left(), SizeIs(1));

  EmptyingStorages emptying(life_->artifacts, [](const auto&, const auto&) { return OkStatus(); });
  ASSERT_TRUE(emptying.GoOn(db_path_).ok());
  life_->artifacts.Finish(Seconds(60));
  LeaveRoom(0);
  const Status looked = emptying.Look(*life_->store, now());
  EXPECT_TRUE(looked.ok()) << looked.message();
  MakeRoom();
  EXPECT_THAT(left(), SizeIs(1));

  now() = now() + Seconds(600);
  ASSERT_TRUE(emptying.Look(*life_->store, now()).ok());
  life_->artifacts.Finish(Seconds(60));
  ASSERT_TRUE(emptying.Look(*life_->store, now()).ok());
  EXPECT_THAT(left(), IsEmpty());
}

}  // namespace
}  // namespace tune
