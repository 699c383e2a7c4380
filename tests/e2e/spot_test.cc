// Machines that are taken away: workers that hear of it save what runs and leave, and its trials go
// on elsewhere as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A metadata server of both clouds, which demands what they demand: its address is printed, and
// the machine goes once the file `goes` is there.
constexpr char kMetadata[] = R"(import http.server, os, sys
class Metadata(http.server.BaseHTTPRequestHandler):
    def answer(self, status, text=b''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_PUT(self):
        ttl = self.headers.get('X-aws-ec2-metadata-token-ttl-seconds')
        self.answer(200 if self.path == '/latest/api/token' and ttl else 400, b'word')
    def do_GET(self):
        goes = os.path.exists('goes')
        if self.path == '/latest/meta-data/spot/instance-action':
            if self.headers.get('X-aws-ec2-metadata-token') != 'word': return self.answer(401)
            if not goes: return self.answer(404)
            return self.answer(200, b'{"action": "terminate", "time": "2026-11-29T08:22:00Z"}')
        if self.path == '/computeMetadata/v1/instance/preempted':
            if self.headers.get('Metadata-Flavor') != 'Google': return self.answer(403)
            return self.answer(200, b'TRUE' if goes else b'FALSE')
        self.answer(404)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Metadata)
print('127.0.0.1:%d' % server.server_address[1], file=sys.stderr, flush=True)
server.serve_forever()
)";

class Spot : public ::testing::Test {
 protected:
  // One trial of six iterations. In its third one it makes the file `third` and waits for `go`.
  void Begin(const std::string& checkpoint) {
    folder_.Write("trial.sh",
                  "#!/bin/sh\n"
                  "n=0\n"
                  "if [ -n \"$TUNE_RESTORED\" ]; then n=$(cat \"$TUNE_RESTORED\"); fi\n"
                  "while [ \"$n\" -lt 6 ]; do\n"
                  "  n=$((n + 1))\n"
                  "  if [ \"$n\" = 3 ]; then\n"
                  "    touch third; until [ -e go ]; do sleep 0.02; done\n"
                  "  fi\n"
                  "  echo \"$n\" > \"$TUNE_DIR/state\"\n"
                  "  tune report acc=\"$n\" " +
                      checkpoint +
                      " || exit 0\n"
                      "done\n");
    chmod((folder_ / "trial.sh").c_str(), 0755);
    const std::string space = folder_.Write(
        "space.yaml",
        "trainable: {command: [./trial.sh], working_dir: .}\nmetric: acc\nmode: max\nseed: 3\n"
        "space: {x: {uniform: [0, 1]}}\nsamples: 1\ncheckpoint: {every: 100}\n");
    tune_.emplace(folder_, "tune",
                  std::vector<std::string>{"run", space, "--cpus", "0", "--listen", "127.0.0.1:0"});
    join_ = WaitForJoinLine(*tune_);
    ASSERT_NE(join_.token, "");
  }
  // It runs the trial's third iteration then.
  void BeginFirst(std::vector<std::string> options) {
    options.insert(options.end(), {"--name", "first"});
    BeginWorker(first_, options);
    while (!fs::exists(folder_ / "third")) {
    }
  }
  void BeginWorker(std::optional<Program>& worker, std::vector<std::string> options) {
    options.insert(options.end(), {"--cpus", "1", "--cache", folder_ / "cache"});
    worker.emplace(folder_, "tune", join_.Worker(options));
  }
  void ExpectItGoesOnElsewhere(const std::string& why, const std::string& from_iteration) {
    ASSERT_TRUE(first_->WaitForText("draining (" + why + "): 1 running trial goes back"));
    folder_.Write("go", "");
    EXPECT_TRUE(Succeeded(first_->Wait()));
    BeginWorker(second_, {"--name", "second"});
    EXPECT_TRUE(Succeeded(second_->Wait()));
    EXPECT_TRUE(Succeeded(tune_->Wait()));
    EXPECT_EQ(
        Query(folder_,
              "select a.number, w.name, a.outcome, a.from_iteration from attempts a join "
              "workers w on w.id = a.worker order by a.number"),
        (std::vector<std::string>{"1|first|preempted|0", "2|second|completed|" + from_iteration}));
    EXPECT_EQ(Query(folder_, "select status, iterations, last_value from trials"),
              std::vector<std::string>{"TERMINATED|6|6.0"});
  }
  // Each iteration was trained once.
  std::vector<std::string> Repeated() const {
    return Query(folder_, "select iteration from reports group by iteration having count(*) > 1");
  }

  TestFolder folder_;
  std::optional<Program> tune_, first_, second_;
  JoinLine join_;
};

constexpr char kSaves[] = "--checkpoint \"$TUNE_DIR/state\"";

TEST_F(Spot, ATrialFinishesAndSavesItsIterationAndRepeatsNone) {
  Begin(kSaves);
  BeginFirst({"--notice", "file:" + folder_ / "notice"});
  folder_.Write("notice", "the rack is moved");
  ExpectItGoesOnElsewhere(folder_ / "notice" + " is there: the rack is moved", "3");
  EXPECT_EQ(Repeated(), std::vector<std::string>{});
}

TEST_F(Spot, TheNoticesOfBothCloudsAreHeard) {
  for (const std::string cloud : {"ec2", "gce"}) {
    TestFolder machine;
    machine.Write("metadata.py", kMetadata);
    Program server(machine, "../../../../../../../../usr/bin/python3", {"metadata.py"});
    std::string address;
    ASSERT_TRUE(server.WaitForLine([&](const std::string& line) {
      address = line.substr(0, line.find('\n'));
      return true;
    }));
    setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", ("http://" + address).c_str(), 1);
    setenv("GCE_METADATA_HOST", address.c_str(), 1);
    fs::remove(folder_ / "tune.db");
    fs::remove(folder_ / "go");
    fs::remove(folder_ / "third");
    Begin(kSaves);
    BeginFirst({"--notice", cloud});
    machine.Write("goes", "");
    ExpectItGoesOnElsewhere(
        cloud == "ec2" ? "EC2 takes this spot machine back: terminate at 2026-11-29T08:22:00Z"
                       : "GCE preempts this machine",
        "3");
    EXPECT_EQ(Repeated(), std::vector<std::string>{});
    fs::remove_all(folder_ / "tune.artifacts");
  }
}

TEST_F(Spot, Sigusr1IsANoticeToo) {
  Begin(kSaves);
  BeginFirst({});
  first_->Signal(SIGUSR1);
  ExpectItGoesOnElsewhere("told to end", "3");
  EXPECT_EQ(Repeated(), std::vector<std::string>{});
}

// As in `tune worker ... 2>&1 | tee log` after a Ctrl-C, which ends tee as well.
TEST_F(Spot, AWorkerToWhichNobodyListensGivesItsTrialBackToo) {
  Begin(kSaves);
  BeginFirst({"--grace", "1s"});
  first_->StopListening();
  first_->Signal(SIGTERM);
  EXPECT_TRUE(Succeeded(first_->Wait()));
  folder_.Write("go", "");
  BeginWorker(second_, {"--name", "second"});
  EXPECT_TRUE(Succeeded(second_->Wait()));
  EXPECT_TRUE(Succeeded(tune_->Wait()));
  EXPECT_EQ(Query(folder_,
                  "select a.number, w.name, a.outcome from attempts a join workers w on w.id = "
                  "a.worker order by a.number"),
            (std::vector<std::string>{"1|first|preempted", "2|second|completed"}));
}

TEST_F(Spot, AWorkerLeavesAfterTheTimeItWasGiven) {
  Begin(kSaves);
  BeginWorker(first_, {"--drain-after", "0s"});
  EXPECT_TRUE(first_->WaitForText("draining (its time is over): no trial runs"));
  EXPECT_TRUE(Succeeded(first_->Wait()));
  tune_->Signal(SIGINT);
  EXPECT_EQ(tune_->Wait().exit_status, 130);
}

// Nothing could be gone on from.
TEST_F(Spot, AProgramWithoutCheckpointsIsEndedAtOnce) {
  Begin("");
  BeginFirst({"--notice", "command:test -e " + folder_ / "notice" + " && echo the price rose"});
  folder_.Write("notice", "");
  ExpectItGoesOnElsewhere("the price rose", "0");
}

TEST_F(Spot, WhatIsNoSourceOrTimeIsRefusedBeforeTheWorkerJoins) {
  const auto said = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"worker", "--connect", "127.0.0.1:1", "--join", "x"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = RunTune(folder_, arguments);
    EXPECT_EQ(result.exit_status, 2);
    return result.err;
  };
  EXPECT_EQ(said({"--notice", "aws"}),
            "tune worker: --notice: read 'aws', expected ec2, gce, file:PATH or command:TEXT\n");
  EXPECT_EQ(said({"--grace", "soon"}),
            "tune worker: --grace: 'soon' is not a duration; write it like 90s, 10m, 2h or 1d\n");
  EXPECT_THAT(said({"--drain-after", "3h50"}), HasSubstr("--drain-after: '3h50' is not a"));
}

}  // namespace
}  // namespace tune::testing
