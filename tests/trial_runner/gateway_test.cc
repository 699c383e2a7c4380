// Both ends of the connection, over real gRPC on ports from the operating system.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/limits.h"
#include "tests/trial_runner/gathering_tuner_sink.h"
#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/scripted_tuner.h"
#include "trial_runner/grpc/package_channel.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/wire/codec.h"

namespace tune {
namespace {

class GatewayTest : public testing::Test {
 protected:
  void SetUp() override {
    auto gateway = WorkerGateway::Start({"127.0.0.1:0", WorkerId{7}}, sink_);
    ASSERT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = *std::move(gateway);
  }
  TunerEndpoint Address() { return {*ParseNetworkAddress(gateway_->address())}; }

  GatheringSink sink_;
  std::unique_ptr<WorkerGateway> gateway_;
};

TEST_F(GatewayTest, NumbersWorkersByTheirHelloAndCarriesMessagesBothWays) {
  GatheringTunerSink first_sink;
  GatheringTunerSink second_sink;
  TunerChannel first(Address(), first_sink);
  first.Send(SampleFromWorker());
  const auto hello = sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->first, WorkerId{7});
  EXPECT_EQ(hello->second.pid, 4711);
  const auto report = sink_.WaitForMessage<AttemptReport>();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->second.report.iteration, 9);
  EXPECT_TRUE(sink_.WaitForMessage<AttemptEnded>());
  EXPECT_TRUE(sink_.WaitForMessage<Heartbeat>());
  EXPECT_TRUE(sink_.WaitForMessage<Goodbye>());
  EXPECT_TRUE(sink_.WaitForMessage<DeviceLost>());
  EXPECT_TRUE(sink_.WaitForMessage<DeviceMemoryPeak>());
  EXPECT_TRUE(sink_.WaitForMessage<SweepUnfit>());
  EXPECT_TRUE(sink_.WaitForMessage<CheckpointDurable>());

  TunerChannel second(Address(), second_sink);
  second.Send({Greeting()});
  const auto second_hello = sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(second_hello);
  EXPECT_EQ(second_hello->first, WorkerId{8});

  gateway_->Send(WorkerId{8}, {Shutdown{}});
  gateway_->Send(WorkerId{7}, SampleToWorker());
  const size_t sent = SampleToWorker().size();
  EXPECT_EQ(first_sink.WaitForMessages(sent).size(), sent);
  EXPECT_EQ(second_sink.WaitForMessages(1).size(), 1u);
}

TEST_F(GatewayTest, KeepsTheOrderOfManyMessages) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  for (int64_t i = 1; i <= 5'000; ++i) {
    gateway_->Send(WorkerId{7}, {AnswerReport{Ref(0, 1, 1), i, ReportAnswer::kContinue}});
  }
  const auto answers = worker.WaitForMessages(5'000);
  ASSERT_EQ(answers.size(), 5'000u);
  for (int64_t i = 1; i <= 5'000; ++i) {
    ASSERT_EQ(std::get<AnswerReport>(answers[static_cast<size_t>(i - 1)]).sequence, i);
  }
}

TEST_F(GatewayTest, ACloseComesAfterWhatWasSent) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  gateway_->Send(WorkerId{7}, {Refused{"another version"}});
  gateway_->Close(WorkerId{7});
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->ok()) << closed->message();
  EXPECT_EQ(std::get<Refused>(worker.WaitForMessages(1).at(0)).reason, "another version");
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
}

TEST_F(GatewayTest, WhatAWorkerSentBeforeItClosedArrivesBeforeItsEnd) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting(), Goodbye{}});
  channel.CloseAfterSending();
  EXPECT_TRUE(sink_.WaitForMessage<Hello>());
  EXPECT_TRUE(sink_.WaitForMessage<Goodbye>());
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->ok()) << closed->message();
}

TEST_F(GatewayTest, TheSinkHearsOfAWorkerThatVanished) {
  GatheringTunerSink worker;
  {
    TunerChannel channel(Address(), worker);
    channel.Send({Greeting()});
    ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  }
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
  gateway_->Send(WorkerId{7}, {Shutdown{}});  // Nobody is there: nothing happens.
  EXPECT_TRUE(gateway_->WaitUntilAllGone(Seconds(20)));
}

TEST_F(GatewayTest, TheWorkerHearsOfATunerThatVanished) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  gateway_->Send(WorkerId{7}, {Shutdown{}});
  ASSERT_EQ(worker.WaitForMessages(1).size(), 1u);
  gateway_.reset();
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->code(), StatusCode::kUnavailable);
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
}

TEST_F(GatewayTest, RefusesAWorkerThatDoesNotSayHelloFirst) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Heartbeat{}});
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_THAT(closed->message(), testing::HasSubstr("hello: expected first"));
}

TEST_F(GatewayTest, RefusesASecondHello) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  channel.Send({Greeting()});
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_THAT(closed->message(), testing::HasSubstr("hello: said twice"));
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
}

TEST_F(GatewayTest, RefusesAWorkerOfAnotherVersion) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  Hello hello = Greeting();
  hello.version = "0.0.9";
  channel.Send({hello});
  ASSERT_TRUE(worker.WaitForClose());
  EXPECT_THAT(std::get<Refused>(worker.WaitForMessages(1).at(0)).reason,
              testing::HasSubstr("the worker is of version 0.0.9, the tuner of version"));
}

// A client that speaks gRPC and no tune.v1.
class RawClient final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RawClient(const std::string& address, const std::string& method, const std::string& bytes)
      : stub_(grpc::CreateChannel("ipv4:" + address, grpc::InsecureChannelCredentials())) {
    const grpc::Slice slice(bytes);
    message_ = grpc::ByteBuffer(&slice, 1);
    stub_.PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    StartWrite(&message_);
    StartRead(&answer_);
    StartCall();
  }
  grpc::Status Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return status_.has_value(); });
    return *status_;
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_.notify_all();
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer message_;
  grpc::ByteBuffer answer_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<grpc::Status> status_;
};

TEST_F(GatewayTest, GarbageOnTheWireEndsThatConnectionAlone) {
  GatheringTunerSink worker;
  TunerChannel channel(Address(), worker);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());

  RawClient garbage(gateway_->address(), "/tune.v1.Tuner/Attach", "\xff\xff\xff\xff");
  EXPECT_EQ(garbage.Wait().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  RawClient stranger(gateway_->address(), "/other.Service/Method", "");
  EXPECT_EQ(stranger.Wait().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  RawClient flood(gateway_->address(), "/tune.v1.Tuner/Attach",
                  std::string(limits::kMessageBytesMax + 1, 'x'));
  EXPECT_FALSE(flood.Wait().ok());

  channel.Send({SampleReport()});
  EXPECT_TRUE(sink_.WaitForMessage<AttemptReport>());
}

// A worker that is stuck in its first message.
class StuckSink final : public TunerSink {
 public:
  void OnMessages(std::vector<ToWorker>) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_released_; });
  }
  void OnClosed(Status) override {}
  void Release() {
    const std::lock_guard lock(mutex_);
    is_released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_released_ = false;
};

TEST_F(GatewayTest, AWorkerThatDoesNotReadIsDisconnected) {
  StuckSink stuck;
  TunerChannel channel(Address(), stuck);
  channel.Send({Greeting()});
  ASSERT_TRUE(sink_.WaitForMessage<Hello>());
  const std::vector<ToWorker> answers(1'000,
                                      AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue});
  for (int i = 0; i < 1'000; ++i) gateway_->Send(WorkerId{7}, answers);
  EXPECT_EQ(sink_.WaitForDisconnect(), WorkerId{7});
  stuck.Release();
}

TEST(Gateway, ListensOnLoopbackOnly) {
  GatheringSink sink;
  const auto gateway = WorkerGateway::Start({"0.0.0.0:0", WorkerId{1}}, sink);
  ASSERT_FALSE(gateway.ok());
  EXPECT_EQ(gateway.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(gateway.status().message(), testing::HasSubstr("loopback"));
}

TEST(Gateway, SaysThatAPortIsTaken) {
  GatheringSink sink;
  const auto first = WorkerGateway::Start({"127.0.0.1:0", WorkerId{1}}, sink);
  ASSERT_TRUE(first.ok());
  const auto second = WorkerGateway::Start({(*first)->address(), WorkerId{1}}, sink);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
}

TEST(Channel, SaysThatNobodyListens) {
  GatheringSink sink;
  std::string address;
  {
    const auto gateway = WorkerGateway::Start({"127.0.0.1:0", WorkerId{1}}, sink);
    ASSERT_TRUE(gateway.ok());
    address = (*gateway)->address();
  }
  GatheringTunerSink worker;
  TunerChannel channel({*ParseNetworkAddress(address)}, worker);
  const auto closed = worker.WaitForClose();
  ASSERT_TRUE(closed);
  EXPECT_THAT(closed->message(), testing::HasSubstr("cannot connect to the tuner at " + address));
}

TEST_F(GatewayTest, ThePlainPortAsksForItsSecret) {
  GatheringSink sink;
  WorkerGateway::Options options;
  options.local_secret = "swordfish";
  const auto gateway = WorkerGateway::Start(options, sink);
  ASSERT_TRUE(gateway.ok()) << gateway.status().message();
  const NetworkAddress address = *ParseNetworkAddress((*gateway)->address());
  for (const char* secret : {"", "swordfis", "swordfisi"}) {
    GatheringTunerSink stranger;
    TunerChannel channel({address, secret}, stranger);
    channel.Send({Greeting()});
    const auto answer = stranger.WaitForMessages(1);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_THAT(std::get<Refused>(answer[0]).reason, testing::HasSubstr("its own worker"));
    EXPECT_TRUE(stranger.WaitForClose());
  }
  GatheringTunerSink own;
  TunerChannel channel({address, "swordfish"}, own);
  channel.Send({Greeting()});
  const auto hello = sink.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->first, WorkerId{1});  // The strangers were none.
}

TEST(NetworkAddress, ReadsHostsAndPorts) {
  EXPECT_EQ(ParseNetworkAddress("127.0.0.1:7000")->ToText(), "127.0.0.1:7000");
  EXPECT_EQ(ParseNetworkAddress("localhost:1")->ToText(), "127.0.0.1:1");
  EXPECT_EQ(ParseNetworkAddress("[::1]:65535")->ToText(), "[::1]:65535");
  EXPECT_EQ(ParseNetworkAddress("[fe80::1:2]:0")->host, "fe80::1:2");
  EXPECT_EQ(ParseNetworkAddress("tuner-1.example.org:7443")->host, "tuner-1.example.org");
  for (const char* bad :
       {"", "127.0.0.1", ":1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:1x",
        "127.0.0.256:1", "127.0.0:1", "1:1", "::1:1", "[]:1", "[x]:1", "a b:1", "-x:1", "a/b:1"}) {
    EXPECT_FALSE(ParseNetworkAddress(bad).ok()) << bad;
  }
}

TEST(NetworkAddress, KnowsWhatIsLocal) {
  for (const char* local : {"127.0.0.1:1", "127.1.2.3:0", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(ParseNetworkAddress(local)->is_loopback()) << local;
  }
  for (const char* other : {"128.0.0.1:1", "127.0.0.1.evil.example:1", "example.org:1", "[::]:1",
                            "10.0.0.1:1", "0.0.0.0:1"}) {
    EXPECT_FALSE(ParseNetworkAddress(other)->is_loopback()) << other;
  }
  EXPECT_TRUE(ParseNetworkAddress("0.0.0.0:1")->is_any());
  EXPECT_TRUE(ParseNetworkAddress("[::]:1")->is_any());
  EXPECT_FALSE(ParseNetworkAddress("10.0.0.1:1")->is_any());
}

// ---- packages

class TextPackage final : public PackageSource {
 public:
  explicit TextPackage(std::string text) : text_(std::move(text)) {}
  const PackageName& name() const override { return name_; }
  Result<std::string> Read(int64_t offset, size_t bytes_max) const override {
    if (offset >= fails_from) return Internal("the disk is gone");
    return text_.substr(static_cast<size_t>(offset), bytes_max);
  }
  int64_t fails_from = limits::kPackageBytesMax;

 private:
  const std::string text_;
  const PackageName name_{std::string(64, 'a'), static_cast<int64_t>(text_.size())};
};

class FetchTest : public testing::Test {
 protected:
  void Serve() {
    WorkerGateway::Options options;
    packages_.Add({&package_, [](const PackageSource*) {}});
    options.packages = &packages_;
    options.local_secret = "secret";
    gateway_ = *WorkerGateway::Start(options, sink_);
    tuner_ = {*ParseNetworkAddress(gateway_->address()), "secret"};
  }
  // To its end; the status is that of the end.
  Status Fetch(const PackageName& name, int64_t offset, std::string& text) {
    PackageChannel channel(tuner_, name, offset);
    while (true) {
      const Result<std::optional<std::string>> piece = channel.Next();
      if (!piece.ok()) return piece.status();
      if (!*piece) return OkStatus();
      text += **piece;
    }
  }

  GatheringSink sink_;
  PackageShelf packages_;
  TextPackage package_{std::string(3 * limits::kPackagePieceBytes + 5, 'x') + "end"};
  std::unique_ptr<WorkerGateway> gateway_;
  TunerEndpoint tuner_;
};

TEST_F(FetchTest, BringsAPackageFromAnyOffset) {
  Serve();
  std::string text;
  EXPECT_TRUE(Fetch(package_.name(), 0, text).ok());
  EXPECT_EQ(static_cast<int64_t>(text.size()), package_.name().bytes);
  text.clear();
  EXPECT_TRUE(Fetch(package_.name(), package_.name().bytes - 4, text).ok());
  EXPECT_EQ(text, "xend");
  text.clear();
  EXPECT_TRUE(Fetch(package_.name(), package_.name().bytes, text).ok());
  EXPECT_EQ(text, "");
}

TEST_F(FetchTest, TellsWhatIsNotThereAndWhoMayNotHaveIt) {
  Serve();
  std::string text;
  const PackageName other{std::string(64, 'b'), package_.name().bytes};
  EXPECT_EQ(Fetch(other, 0, text).code(), StatusCode::kNotFound);
  tuner_.local_secret = "guessed";
  EXPECT_EQ(Fetch(package_.name(), 0, text).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(text, "");
}

TEST_F(FetchTest, TellsThatThePackageCannotBeRead) {
  package_.fails_from = limits::kPackagePieceBytes;
  Serve();
  std::string text;
  const Status status = Fetch(package_.name(), 0, text);
  EXPECT_EQ(status, Internal("the disk is gone"));
  EXPECT_EQ(text.size(), limits::kPackagePieceBytes);
}

TEST_F(FetchTest, OneThatIsGivenUpInTheMiddleHurtsNobody) {
  Serve();
  {
    PackageChannel channel(tuner_, package_.name(), 0);
    while (channel.Next()->value_or("x").empty()) {
    }
  }
  std::string text;
  EXPECT_TRUE(Fetch(package_.name(), 0, text).ok());
  gateway_.reset();
  EXPECT_EQ(Fetch(package_.name(), 0, text).code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tune
