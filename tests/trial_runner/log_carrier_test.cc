// What attempts print, on its way to the tuner.
#include "trial_runner/worker/log_carrier.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>

#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

constexpr AttemptRef kRef{TrialNumber{0}, AttemptNumber{1}, LeaseEpoch{1}, ExperimentId{1}};

// Has no room for logs until some is made.
class FullTuner final : public CheckpointLink {
 public:
  Result<int64_t> SendLog(const PutLog& put, std::stop_token /*stop*/) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    change_.notify_all();
    if (!has_room_) return ResourceExhausted("no space left on device");
    text_ = text_.substr(0, static_cast<size_t>(put.offset)) + put.text;
    return static_cast<int64_t>(text_.size());
  }
  Result<bool> Sees(const SeeNonce& /*see*/, std::stop_token /*stop*/) override { return false; }
  Result<std::string> Put(const PutCheckpoint& /*put*/, const PackageSource& /*text*/,
                          std::stop_token /*stop*/) override {
    return NotFound("it takes none");
  }
  Status Get(const GetCheckpoint& /*get*/, const Taker& /*taker*/,
             std::stop_token /*stop*/) override {
    return NotFound("it has none");
  }

  void MakeRoom() {
    const std::lock_guard lock(mutex_);
    has_room_ = true;
  }
  // That often it was asked, and refused, since the last call.
  bool WaitUntilAsked(int times) {
    std::unique_lock lock(mutex_);
    asked_ = 0;
    return change_.wait_for(lock, std::chrono::minutes(1), [&] { return asked_ >= times; });
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  bool has_room_ = false;
  int asked_ = 0;
  std::string text_;
};

class LogCarrierTest : public ::testing::Test {
 protected:
  explicit LogCarrierTest(Duration patience = Seconds(3600))
      : carrier_(
            tuner_,
            [this](const AttemptRef& /*ref*/, const Status& sent) {
              const std::lock_guard lock(mutex_);
              answer_ = sent;
              change_.notify_all();
            },
            patience) {
    std::ofstream(folder_ / "attempt_1.log") << "all that it printed\n";
  }
  void SendLast() { carrier_.Send({{}, kRef, folder_ / "attempt_1.log", 0, /*is_last=*/true}); }
  std::optional<Status> WaitForAnswer() {
    std::unique_lock lock(mutex_);
    change_.wait_for(lock, std::chrono::minutes(1), [this] { return answer_.has_value(); });
    return answer_;
  }
  bool HasAnswer() {
    const std::lock_guard lock(mutex_);
    return answer_.has_value();
  }

  TempFolder folder_;
  FullTuner tuner_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::optional<Status> answer_;
  LogCarrier carrier_;
};

TEST_F(LogCarrierTest, TheEndOfALogWaitsForRoomAtTheTuner) {
  SendLast();
  ASSERT_TRUE(tuner_.WaitUntilAsked(2));
  EXPECT_FALSE(HasAnswer());
  tuner_.MakeRoom();
  const std::optional<Status> answer = WaitForAnswer();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok()) << answer->message();
  EXPECT_EQ(tuner_.text(), "all that it printed\n");
}

TEST_F(LogCarrierTest, AWorkerThatLeavesWaitsForNoRoom) {
  SendLast();
  ASSERT_TRUE(tuner_.WaitUntilAsked(1));
  carrier_.Hurry();
  const std::optional<Status> answer = WaitForAnswer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), StatusCode::kResourceExhausted);
}

class ImpatientLogCarrierTest : public LogCarrierTest {
 protected:
  ImpatientLogCarrierTest() : LogCarrierTest(Milliseconds(1)) {}
};

// An attempt's end waits for it, and the sweep for the end.
TEST_F(ImpatientLogCarrierTest, AnEndDoesNotWaitForRoomForEver) {
  SendLast();
  const std::optional<Status> answer = WaitForAnswer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace tune
