// Checkpoints over real gRPC: a worker's calls, and the gateway that serves them.
#include "trial_runner/grpc/checkpoint_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/posix/threads.h"
#include "tests/sanitized.h"
#include "tests/trial_runner/gathering_tuner_sink.h"
#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/scripted_tuner.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/package/artifact_depot.h"
#include "trial_runner/package/folder_text.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// Says that it is one folder, and reads as another.
class Changed final : public PackageSource {
 public:
  Changed(const PackageSource& source, int64_t at) : source_(source), at_(at) {}
  const PackageName& name() const override { return source_.name(); }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override {
    Result<std::string> text = source_.Read(offset, bytes_max);
    const int64_t within = at_ - offset;
    if (text.ok() && within >= 0 && within < static_cast<int64_t>(text->size())) {
      (*text)[static_cast<size_t>(within)] ^= 1;
    }
    return text;
  }

 private:
  const PackageSource& source_;
  const int64_t at_;
};

class CheckpointCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    depot_ = *ArtifactDepot::Make({folder_ / "artifacts", 64 << 20});
    WorkerGateway::Options options;
    options.checkpoints = depot_.get();
    auto gateway = WorkerGateway::Start(options, sink_);
    ASSERT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = *std::move(gateway);
    const TunerEndpoint tuner = {*ParseNetworkAddress(gateway_->address())};
    worker_ = std::make_unique<TunerChannel>(tuner, worker_sink_);
    checkpoints_ = std::make_unique<CheckpointChannel>(tuner, "session");
    fs::create_directories(folder_ / "saved");
    std::ofstream(folder_ / "saved/weights") << std::string(3'000'000, 'w');
  }
  // It is welcomed and holds a lease of trial 3.
  void Attach() {
    Hello hello = Greeting();
    hello.session = "session";
    worker_->Send({hello});
    const auto joined = sink_.WaitForMessage<Hello>();
    ASSERT_TRUE(joined);
    id_ = joined->first;
    StartAttempt start;
    start.ref = Ref(3, 1, 1);
    start.config = "{}";
    start.cpu_milli = 1000;
    Welcome welcome;
    welcome.worker = id_;
    welcome.heartbeat_ms = welcome.lease_ms = 1000;
    gateway_->Send(id_, {welcome, start});
    ASSERT_EQ(worker_sink_.WaitForMessages(2).size(), 2u);
  }
  Result<std::string> Put(const PackageSource& text, const AttemptRef& ref = Ref(3, 1, 1)) {
    return checkpoints_->Put({ref, "checkpoint_000001", text.name()}, text, stop_.get_token());
  }
  // What comes of it.
  Result<std::string> Get(const std::string& path, int64_t offset = 0) {
    std::string text;
    const Status got = checkpoints_->Get({Ref(3, 1, 1), path, offset},
                                         {[](const PackageName&) { return OkStatus(); },
                                          [&text](std::string_view piece) {
                                            text += piece;
                                            return OkStatus();
                                          }},
                                         stop_.get_token());
    if (!got.ok()) return got;
    return text;
  }

  TempFolder folder_;
  GatheringSink sink_;
  GatheringTunerSink worker_sink_;
  std::shared_ptr<ArtifactDepot> depot_;
  std::unique_ptr<WorkerGateway> gateway_;
  std::unique_ptr<TunerChannel> worker_;
  std::unique_ptr<CheckpointChannel> checkpoints_;
  std::stop_source stop_;
  WorkerId id_;
};

TEST_F(CheckpointCalls, GoThereAndBack) {
  Attach();
  const Result<FolderText> text = FolderText::Of(folder_ / "saved");
  const Result<std::string> path = Put(*text);
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*path, folder_ / "artifacts/3/checkpoint_000001");
  EXPECT_EQ(FolderText::Of(*path)->name(), text->name());
  const Result<std::string> back = Get(*path);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(static_cast<int64_t>(back->size()), text->name().bytes);
  EXPECT_EQ(*Get(*path, 2'900'000), back->substr(2'900'000));
}

TEST_F(CheckpointCalls, OnlyAnAttachedWorkerMayAndOnlyOfItsLeases) {
  const Result<FolderText> text = FolderText::Of(folder_ / "saved");
  EXPECT_EQ(Put(*text).status().code(), StatusCode::kUnavailable) << "not attached yet";
  Attach();
  EXPECT_EQ(Put(*text, Ref(3, 1, 9)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Put(*text, Ref(4, 1, 1)).status().code(), StatusCode::kFailedPrecondition);
  gateway_->Send(id_, {KillAttempt{Ref(3, 1, 1), true}});
  EXPECT_EQ(Put(*text).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Get(folder_ / "artifacts/3/checkpoint_000001").status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(CheckpointCalls, WhatAnAttemptPrintsComesUntilItsEndIsHeard) {
  const auto send = [this](const AttemptRef& ref, int64_t offset, const std::string& text) {
    return checkpoints_->SendLog({ref, 0, offset, text}, stop_.get_token());
  };
  EXPECT_EQ(send(Ref(3, 1, 1), 0, "a").status().code(), StatusCode::kUnavailable);
  Attach();
  EXPECT_EQ(*send(Ref(3, 1, 1), 0, "begun\n"), 6);
  EXPECT_EQ(send(Ref(4, 1, 1), 0, "a").status().code(), StatusCode::kFailedPrecondition);
  // Its checkpoints do not count any more, but what it said last is heard.
  gateway_->Send(id_, {KillAttempt{Ref(3, 1, 1), true}});
  EXPECT_EQ(*send(Ref(3, 1, 1), 6, "killed\n"), 13);
}

TEST_F(CheckpointCalls, WhatIsChangedOnTheWayIsRefused) {
  Attach();
  const Result<FolderText> text = FolderText::Of(folder_ / "saved");
  EXPECT_EQ(Put(Changed(*text, 1'500'000)).status().code(), StatusCode::kDataLoss);
  EXPECT_FALSE(fs::exists(folder_ / "artifacts/3/checkpoint_000001"));
  EXPECT_TRUE(Put(*text).ok()) << "and the next one is taken";
}

TEST_F(CheckpointCalls, EndWhenTheyAreGivenUp) {
  Attach();
  stop_.request_stop();
  const Result<FolderText> text = FolderText::Of(folder_ / "saved");
  EXPECT_EQ(Put(*text).status().code(), StatusCode::kUnavailable);
}

TEST_F(CheckpointCalls, EndWithTheGateway) {
  Attach();
  gateway_.reset();
  const Result<FolderText> text = FolderText::Of(folder_ / "saved");
  EXPECT_EQ(Put(*text).status().code(), StatusCode::kUnavailable);
}

TEST_F(CheckpointCalls, TheTunerSaysWhetherItSeesWhatTheWorkerWrote) {
  Attach();
  const std::string nonce(kNonceBytes, '7');
  EXPECT_FALSE(*checkpoints_->Sees({nonce}, stop_.get_token()));
  std::ofstream(folder_ / ("artifacts/" + NonceFile(nonce))) << nonce;
  EXPECT_TRUE(*checkpoints_->Sees({nonce}, stop_.get_token()));
  EXPECT_FALSE(*checkpoints_->Sees({nonce, {}, /*is_of_programs=*/true}, stop_.get_token()));
  EXPECT_EQ(checkpoints_->Sees({"../../etc/passwd"}, stop_.get_token()).status().code(),
            StatusCode::kInvalidArgument);
}

// Takes all room for threads: of stacks that ended threads left, and of the address space.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit little = before_;
    little.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + kHeadroom);
    EXPECT_EQ(setrlimit(RLIMIT_AS, &little), 0);
    const auto wait = [this] { end_.wait(); };
    while (auto thread = TryThread<std::jthread>(wait, [] { return false; })) {
      threads_.push_back(*std::move(thread));
    }
  }
  ~NoRoomForThreads() {
    setrlimit(RLIMIT_AS, &before_);
    end_.count_down();
  }

 private:
  static constexpr int64_t kHeadroom = 16 << 20;
  rlimit before_ = {};
  std::latch end_{1};
  std::vector<std::jthread> threads_;
};

TEST_F(CheckpointCalls, AreToldToComeAgainWhereThereIsNoRoomForAThread) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer maps memory of its own for each thread";
  Attach();
  const auto send = [this](int64_t offset, const std::string& text) {
    return checkpoints_->SendLog({Ref(3, 1, 1), 0, offset, text}, stop_.get_token());
  };
  ASSERT_EQ(*send(0, "begun\n"), 6);
  {
    const NoRoomForThreads none;
    const Status refused = send(6, "on\n").status();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
    EXPECT_THAT(refused.message(), ::testing::HasSubstr("no room for one more thread"));
  }
  EXPECT_EQ(*send(6, "on\n"), 9);
}

}  // namespace
}  // namespace tune
