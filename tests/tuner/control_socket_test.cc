// Both ends of the control socket, with a tuner of the test's own behind them.
#include "tuner/control/control_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/posix/real_clock.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/control/control_client.h"
#include "tuner/control/control_server.h"

namespace tune {
namespace {

constexpr Duration kPatience = Milliseconds(60'000);  // Longer than a test may last.

ControlRequest Request(int64_t trial = 3) {
  ControlRequest request;
  request.tuner = 1;
  request.sweep = "sweep";
  request.trial = TrialNumber{trial};
  return request;
}

// The tuner's thread: answers each request by `answer`, or keeps it when that gives nothing.
class FakeTuner {
 public:
  using AnswerFunction = std::function<std::optional<ControlAnswer>(const ControlRequest&)>;

  FakeTuner(const std::string& folder, AnswerFunction answer) : answer_(std::move(answer)) {
    auto server = ControlServer::Start(folder, clock_, [this] { Wake(); });
    EXPECT_TRUE(server.ok()) << server.status().message();
    if (!server.ok()) return;
    server_ = *std::move(server);
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeTuner() { End(); }

  void End() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }
  // Until that many requests have come.
  void WaitForRequests(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return request_count_ >= count; });
  }

 private:
  void Wake() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_woken_ = true;
    }
    changed_.notify_all();
  }
  void Run() {
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return is_woken_ || is_ending_; });
        if (is_ending_) return;
        is_woken_ = false;
      }
      const auto arrivals = server_->Take();
      for (const ControlServer::Arrival& arrival : arrivals) {
        if (const auto answer = answer_(arrival.request)) server_->Answer(arrival.client, *answer);
      }
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        request_count_ += arrivals.size();
      }
      changed_.notify_all();
    }
  }

  const RealClock clock_;
  AnswerFunction answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_woken_ = false;
  bool is_ending_ = false;
  size_t request_count_ = 0;
  std::unique_ptr<ControlServer> server_;
  std::thread thread_;
};

std::optional<ControlAnswer> Echo(const ControlRequest& request) {
  return ControlAnswer{OkStatus(), {"trial " + std::to_string(request.trial->value)}};
}

Result<ControlAnswer> Ask(const std::string& folder, const ControlRequest& request) {
  const RealClock clock;
  return AskTuner(folder, request, clock, kPatience);
}

// A connection that says what the test wants.
class RawClient {
 public:
  explicit RawClient(const std::string& folder) {
    auto address = ControlAddress::In(folder);
    EXPECT_TRUE(address.ok());
    auto fd = ConnectToControl(*address);
    EXPECT_TRUE(fd.ok()) << fd.status().message();
    if (fd.ok()) fd_ = *std::move(fd);
    fcntl(fd_.get(), F_SETFL, 0);  // Blocking.
  }
  void Say(const std::string& bytes) {
    (void)!send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  std::string ReadToEnd() {
    std::string text;
    char bytes[4096];
    for (ssize_t size = 0; (size = recv(fd_.get(), bytes, sizeof bytes, 0)) > 0;) {
      text.append(bytes, static_cast<size_t>(size));
    }
    return text;
  }

 private:
  FileDescriptor fd_;
};

TEST(ControlSocket, ARequestIsAnsweredOnceTheTunerHasDecided) {
  TempFolder folder;
  FakeTuner tuner(folder / "made.artifacts", Echo);
  const Result<ControlAnswer> answer = Ask(folder / "made.artifacts", Request(7));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(*answer, (ControlAnswer{OkStatus(), {"trial 7"}}));
}

TEST(ControlSocket, ARefusalComesWithItsCode) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), [](const ControlRequest&) {
    return ControlAnswer{NotFound("no trial 7"), {}};
  });
  const Result<ControlAnswer> answer = Ask(folder.path(), Request(7));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, NotFound("no trial 7"));
}

TEST(ControlSocket, WhereNobodyListensNothingWasAsked) {
  TempFolder folder;
  EXPECT_EQ(Ask(folder / "none", Request()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Ask(folder.path(), Request()).status().code(), StatusCode::kNotFound);
  WriteText(folder / kControlSocketName, "no socket");
  EXPECT_EQ(Ask(folder.path(), Request()).status().code(), StatusCode::kNotFound);
}

TEST(ControlSocket, IsForItsOwnerAloneAndGoneAtTheEndWithTheFolderThatItMade) {
  TempFolder folder;
  {
    FakeTuner tuner(folder / "made.artifacts", Echo);
    struct stat file = {};
    ASSERT_EQ(lstat((folder / "made.artifacts/control.sock").c_str(), &file), 0);
    EXPECT_TRUE(S_ISSOCK(file.st_mode));
    EXPECT_EQ(file.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(folder.List(), std::vector<std::string>{});
  std::filesystem::create_directory(folder / "full");
  WriteText(folder / "full/checkpoint", "x");
  { FakeTuner tuner(folder / "full", Echo); }
  EXPECT_EQ(ReadText(folder / "full/checkpoint"), "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "full/control.sock"));
}

TEST(ControlSocket, APathBeyondASocketsAddressWorksToo) {
  TempFolder folder;
  std::string deep = folder.path();
  while (deep.size() < 300) deep += "/a-long-name-of-a-folder";
  FakeTuner tuner(deep, Echo);
  EXPECT_TRUE(std::filesystem::exists(deep + "/control.sock"));
  const Result<ControlAnswer> answer = Ask(deep, Request(8));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->lines, std::vector<std::string>{"trial 8"});
}

TEST(ControlSocket, WhatAKilledTunerLeftIsReplaced) {
  TempFolder folder;
  {
    auto address = ControlAddress::In(folder.path());
    ASSERT_TRUE(address.ok());
    const sockaddr_un name = address->name();
    const FileDescriptor dead(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(folder / "control.sock"));
  FakeTuner tuner(folder.path(), Echo);
  EXPECT_TRUE(Ask(folder.path(), Request()).ok());
}

TEST(ControlSocket, OneOnWhichSomebodyListensIsNotTakenAway) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), Echo);
  const RealClock clock;
  const auto second = ControlServer::Start(folder.path(), clock, [] {});
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Ask(folder.path(), Request()).ok());
}

TEST(ControlSocket, AnEndThatCameWithoutAnAnswerIsToldApartFromNobodyThere) {
  TempFolder folder;
  auto tuner = std::make_unique<FakeTuner>(folder.path(),
                                           [](const ControlRequest&) { return std::nullopt; });
  std::thread ender([&] {
    tuner->WaitForRequests(1);
    tuner->End();
  });
  const Result<ControlAnswer> answer = Ask(folder.path(), Request());
  ender.join();
  ASSERT_TRUE(answer.ok());  // The server's last word.
  EXPECT_EQ(answer->status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(answer->status.message().find("ended"), std::string::npos);

  // One that is killed says nothing.
  std::filesystem::create_directory(folder.path());  // The server removes what is empty.
  auto address = ControlAddress::In(folder.path());
  const sockaddr_un name = address->name();
  FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  std::thread killed(
      [&] { const FileDescriptor client(accept(listener.get(), nullptr, nullptr)); });
  const Result<ControlAnswer> none = Ask(folder.path(), Request());
  killed.join();
  EXPECT_EQ(none.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(none.status().message().find("tune status"), std::string::npos);
}

TEST(ControlSocket, SilenceHasAnEnd) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), [](const ControlRequest&) { return std::nullopt; });
  const RealClock clock;
  const auto answer = AskTuner(folder.path(), Request(), clock, Milliseconds(20));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
}

TEST(ControlSocket, WhoIsWrongSilentOrGoneHarmsNobody) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), Echo);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<RawClient>(folder.path()));
  silent[0]->Say("{\"tuner\": 1,");  // And no more.
  for (int i = 0; i < 8; ++i) {
    RawClient gone(folder.path());
    gone.Say(i % 2 == 0 ? "{\"tun" : EncodeRequest(Request()) + "\n");
  }
  RawClient wrong(folder.path());
  wrong.Say("hello\n");
  EXPECT_NE(wrong.ReadToEnd().find("invalid_argument"), std::string::npos);
  RawClient endless(folder.path());
  endless.Say(std::string(10 * kControlLineBytesMax, 'x'));
  EXPECT_NE(endless.ReadToEnd().find("more than"), std::string::npos);
  RawClient binary(folder.path());
  binary.Say(std::string("\0\xff\n", 3));
  EXPECT_NE(binary.ReadToEnd().find("error"), std::string::npos);
  const Result<ControlAnswer> answer = Ask(folder.path(), Request(9));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->lines, std::vector<std::string>{"trial 9"});
}

TEST(ControlSocket, ManyAtOnceAreAllAnsweredEachItsOwn) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), Echo);
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  std::vector<std::thread> threads;
  std::vector<int> answered(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int64_t trial = t * kEach + i;
        const auto answer = Ask(folder.path(), Request(trial));
        answered[static_cast<size_t>(t)] +=
            answer.ok() && answer->lines == std::vector{"trial " + std::to_string(trial)} ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, std::vector<int>(kThreads, kEach));
}

TEST(ControlSocket, MoreThanAreServedAtATimeWaitTheirTurn) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), Echo);
  {
    std::vector<std::unique_ptr<RawClient>> holders;
    for (size_t i = 0; i < kControlClientsMax; ++i) {
      holders.push_back(std::make_unique<RawClient>(folder.path()));
    }
    RawClient waiting(folder.path());
    waiting.Say(EncodeRequest(Request(5)) + "\n");
    holders.clear();
    EXPECT_NE(waiting.ReadToEnd().find("trial 5"), std::string::npos);
  }
}

TEST(ControlSocket, OneThatHasSaidNothingMakesRoomForOneThatWaits) {
  TempFolder folder;
  FakeTuner tuner(folder.path(), Echo);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (size_t i = 0; i < kControlClientsMax; ++i) {
    silent.push_back(std::make_unique<RawClient>(folder.path()));
  }
  RawClient waiting(folder.path());
  waiting.Say(EncodeRequest(Request(5)) + "\n");
  EXPECT_NE(waiting.ReadToEnd().find("trial 5"), std::string::npos);
  EXPECT_EQ(silent.front()->ReadToEnd(), "") << "it was the first to come";
  silent.back()->Say(EncodeRequest(Request(6)) + "\n");
  EXPECT_NE(silent.back()->ReadToEnd().find("trial 6"), std::string::npos) << "the others stay";
}

}  // namespace
}  // namespace tune
