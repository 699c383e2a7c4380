// Searches for the place of a sweep that do not come to an end.
#include "trial_runner/worker/package_fetcher.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/trial_runner/sharing_tuner.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr ExperimentId kSweep{1};
constexpr std::chrono::minutes kPatience(1);

// The first question keeps its thread, as a disk that does not
// answer does: it heeds no stop.
class HungTuner final : public SharingTuner {
 public:
  Result<bool> Sees(const SeeNonce& /*see*/, std::stop_token /*stop*/) override {
    std::unique_lock lock(mutex_);
    if (!std::exchange(is_asked_, true)) {
      change_.notify_all();
      change_.wait(lock, [this] { return is_released_; });
    }
    return true;
  }

  void Reset() {
    const std::lock_guard lock(mutex_);
    is_asked_ = is_released_ = false;
  }
  bool WaitUntilAsked() {
    std::unique_lock lock(mutex_);
    return change_.wait_for(lock, kPatience, [this] { return is_asked_; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    change_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  bool is_asked_ = false;
  bool is_released_ = false;
};

class PackageFetcherTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tune_fetcher_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    tuner().Reset();
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Never destroyed: a thread that was left behind may be at it when its test is over.
  static HungTuner& tuner() {
    static auto* const hung = new HungTuner;
    return *hung;
  }
  WantedPlace Wanted(const std::string& name) const {
    fs::create_directories(folder_ + "/" + name);
    WantedPlace wanted;
    wanted.artifacts = folder_ + "/" + name;
    return wanted;
  }
  PackageFetcher::OnFound Remember() {
    return
        [this](ExperimentId /*sweep*/, const WantedPlace& wanted, const Result<FoundPlace>& found) {
          const std::lock_guard lock(mutex_);
          EXPECT_TRUE(found.ok()) << found.status().message();
          found_.push_back(fs::path(wanted.artifacts).filename());
          change_.notify_all();
        };
  }

  std::string folder_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::vector<std::string> found_;
};

TEST_F(PackageFetcherTest, ASweepIsLeftThoughItsPlaceIsLookedForOnADiskThatDoesNotAnswer) {
  {
    PackageFetcher fetcher({nullptr, &tuner(), "", ""});
    fetcher.Begin(kSweep, Wanted("one"), Remember());
    ASSERT_TRUE(tuner().WaitUntilAsked());
    std::future<void> left = std::async(std::launch::async, [&] { fetcher.Leave(kSweep); });
    EXPECT_EQ(left.wait_for(kPatience), std::future_status::ready);
    tuner().Release();
  }
  const std::lock_guard lock(mutex_);
  EXPECT_TRUE(found_.empty()) << "nobody asks for it any more";
}

TEST_F(PackageFetcherTest, AnotherPlaceOfTheSweepIsFoundBesideASearchThatHangs) {
  {
    PackageFetcher fetcher({nullptr, &tuner(), "", ""});
    fetcher.Begin(kSweep, Wanted("one"), Remember());
    ASSERT_TRUE(tuner().WaitUntilAsked());
    std::future<void> begun =
        std::async(std::launch::async, [&] { fetcher.Begin(kSweep, Wanted("other"), Remember()); });
    EXPECT_EQ(begun.wait_for(kPatience), std::future_status::ready);
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(change_.wait_for(lock, kPatience, [this] { return !found_.empty(); }));
    lock.unlock();
    tuner().Release();
  }
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(found_, std::vector<std::string>{"other"});
}

}  // namespace
}  // namespace tune
