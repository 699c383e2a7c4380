// A test that is the tuner of one real worker: it says what the worker shall do, and hears what
// comes of it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "tests/trial_runner/scripted_tuner.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/package/artifact_depot.h"

namespace tune {

class OneWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tune_worker_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto depot = ArtifactDepot::Make({folder_, limits::kCheckpointBytesMax});
    ASSERT_TRUE(depot.ok()) << depot.status().message();
    depot_ = *std::move(depot);
    WorkerGateway::Options options;
    options.checkpoints = depot_.get();
    auto gateway = WorkerGateway::Start(options, sink_);
    ASSERT_TRUE(gateway.ok()) << gateway.status().message();
    gateway_ = *std::move(gateway);
  }
  void TearDown() override {
    worker_.reset();
    gateway_.reset();
    depot_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Returns what it says first; `arguments` beside where to connect.
  Hello StartWorker(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--connect", gateway_->address()});
    worker_ = std::make_unique<ScriptedProgram>("tune_worker", arguments);
    const auto hello = sink_.WaitForMessage<Hello>();
    EXPECT_TRUE(hello) << "the worker did not join";
    if (!hello) return {};
    id_ = hello->first;
    return hello->second;
  }
  void SendWelcome(const std::string& metric, const std::string& trainable,
                   int64_t lease_ms = 60'000, std::vector<std::string> own_paths = {}) {
    SweepInfo sweep;
    sweep.experiment = "sweep";
    sweep.metric = metric;
    sweep.trainable = trainable;
    sweep.base_dir = folder_;
    sweep.seed = 7;
    sweep.own_paths = std::move(own_paths);
    Send(Welcome{id_, lease_ms / 60, lease_ms, {sweep}});
  }
  void Send(ToWorker message) {
    std::vector<ToWorker> messages;
    messages.push_back(std::move(message));
    gateway_->Send(id_, std::move(messages));
  }
  void Answer(const AttemptReport& report, ReportAnswer answer = ReportAnswer::kContinue) {
    Send(AnswerReport{report.ref, report.sequence, answer});
  }

  AttemptReport Report() {
    const auto message = sink_.WaitForMessage<AttemptReport>();
    EXPECT_TRUE(message) << "no report came";
    return message ? message->second : AttemptReport{};
  }
  AttemptEnded End() {
    const auto message = sink_.WaitForMessage<AttemptEnded>();
    EXPECT_TRUE(message) << "no end came";
    return message ? message->second : AttemptEnded{};
  }

  GatheringSink sink_;
  std::string folder_;
  std::shared_ptr<ArtifactDepot> depot_;
  std::unique_ptr<WorkerGateway> gateway_;
  std::unique_ptr<ScriptedProgram> worker_;
  WorkerId id_;
};

}  // namespace tune
