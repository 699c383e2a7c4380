// `tune report` against the real server of a trial: what it says there, and its exit status.
#include "tuner/cli/run/report_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cmath>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "trial_runner/command/program_messages.h"
#include "trial_runner/command/program_server.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Said {
  int exit_status = -1;
  std::string out;
  std::string err;
};

Said Report(const std::vector<std::string>& arguments, const std::string& socket = "") {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_status = ReportCommand(arguments, socket, out, err);
  return {exit_status, out.str(), err.str()};
}

// The lines that come next: at least one.
std::vector<ProgramServer::Line> AwaitLines(ProgramServer& server) {
  while (true) {
    std::vector<pollfd> fds;
    server.AddTo(fds);
    poll(fds.data(), fds.size(), -1);
    if (std::vector<ProgramServer::Line> lines = server.Take(); !lines.empty()) return lines;
  }
}

// A report to a server that answers with this line; what it was told.
struct Answered {
  Said said;
  ProgramReport report;
};
Answered ReportAndAnswer(const std::vector<std::string>& arguments, const std::string& answer) {
  Result<ProgramServer> server = ProgramServer::Open();
  EXPECT_TRUE(server.ok());
  Answered answered;
  std::thread program([&] { answered.said = Report(arguments, server->name()); });
  const ProgramServer::Line line = AwaitLines(*server).front();
  const Result<ProgramReport> report = ParseProgramReport(line.text);
  EXPECT_TRUE(report.ok()) << report.status().message();
  if (report.ok()) answered.report = *report;
  server->Reply(line.client, answer);
  program.join();
  return answered;
}

TEST(ReportCommand, SaysItsMetricsAndGoesOn) {
  const Answered answered =
      ReportAndAnswer({"acc=0.5", "loss=-1e-3", "far=inf"}, EncodeProgramAnswer({false, 1}));
  EXPECT_EQ(answered.said.exit_status, 0);
  EXPECT_THAT(answered.report.metrics,
              ElementsAre(Pair("acc", 0.5), Pair("loss", -0.001), Pair("far", INFINITY)));
  EXPECT_EQ(answered.report.iteration, std::nullopt);
  EXPECT_EQ(answered.report.checkpoint, "");
  EXPECT_EQ(answered.said.out + answered.said.err, "");
}

TEST(ReportCommand, TellsAStopByItsExitStatus) {
  const Answered answered = ReportAndAnswer({"acc=nan"}, EncodeProgramAnswer({true, 1}));
  EXPECT_EQ(answered.said.exit_status, 10);
  EXPECT_TRUE(std::isnan(answered.report.metrics[0].second));
}

TEST(ReportCommand, TakesItsOptionsInEitherForm) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--iteration", "7", "a=1", "--checkpoint", "model.pt"},
        std::vector<std::string>{"a=1", "--checkpoint=model.pt", "--iteration=7"},
        std::vector<std::string>{"training_iteration=7", "a=1", "--checkpoint=model.pt"}}) {
    const ProgramReport report = ReportAndAnswer(arguments, EncodeProgramAnswer({})).report;
    EXPECT_EQ(report.iteration, 7);
    EXPECT_EQ(report.metrics.size(), 1u);
    char folder[4096];
    ASSERT_NE(getcwd(folder, sizeof folder), nullptr);
    EXPECT_EQ(report.checkpoint, std::string(folder) + "/model.pt");
  }
}

TEST(ReportCommand, SaysWhyAReportWasNotTaken) {
  const Said said =
      ReportAndAnswer({"acc=1"}, EncodeProgramError("checkpoint: the file is gone")).said;
  EXPECT_EQ(said.exit_status, 2);
  EXPECT_EQ(said.err, "tune report: checkpoint: the file is gone\n");
}

TEST(ReportCommand, SaysWhenTheTunerIsGone) {
  const Said absent = Report({"acc=1"}, "@tune-nobody-is-here");
  EXPECT_EQ(absent.exit_status, 1);
  EXPECT_THAT(absent.err, HasSubstr("tune report: the tuner is gone"));

  Said left;
  std::thread program;
  {
    Result<ProgramServer> server = ProgramServer::Open();
    ASSERT_TRUE(server.ok());
    program = std::thread([&left, name = server->name()] { left = Report({"acc=1"}, name); });
    AwaitLines(*server);
  }
  program.join();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_EQ(left.err, "tune report: the tuner is gone\n");
}

TEST(ReportCommand, OutsideASweepTheReportIsPrinted) {
  const Said said = Report({"acc=0.25", "loss=2"});
  EXPECT_EQ(said.exit_status, 0);
  EXPECT_EQ(said.out, "report: acc=0.25 loss=2 (in no sweep)\n");
}

TEST(ReportCommand, RefusesWhatIsNoReportBeforeItAsksAnybody) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "no metric is there; expected NAME=NUMBER"},
      {{"--iteration", "3"}, "no metric is there"},
      {{"acc"}, "read 'acc', expected NAME=NUMBER"},
      {{"=1"}, "read '=1', expected NAME=NUMBER"},
      {{"--acc=1"}, "read '--acc=1', expected NAME=NUMBER"},
      {{"acc=high"}, "acc: read 'high', expected a number"},
      {{"acc="}, "acc: read '', expected a number"},
      {{"acc=0.5%"}, "acc: read '0.5%', expected a number"},
      {{"acc=1", "loss=2", "acc=3"}, "acc: reported twice"},
      {{"acc=0,5"}, "acc: read '0,5', expected a number"},
      {{"acc=1", "--iteration"}, "--iteration: its value is missing"},
      {{"acc=1", "--iteration", "0"}, "--iteration: read '0', expected an integer from 1"},
      {{"acc=1", "--iteration=1.5"}, "--iteration: read '1.5', expected an integer from 1"},
      {{"acc=1", "--checkpoint="}, "--checkpoint: expected a path"},
      {{"acc=1", "training_iteration=0"}, "training_iteration: read '0', expected an integer"},
      {{"acc=1", "training_iteration=2", "--iteration=2"}, "--iteration and training_iteration"},
      {{"training_iteration=2"}, "no metric is there"},
  };
  for (const auto& [arguments, error] : cases) {
    const Said said = Report(arguments, "@tune-nobody-is-here");
    EXPECT_EQ(said.exit_status, 2) << error;
    EXPECT_THAT(said.err, HasSubstr(std::string("tune report: ") + error));
    EXPECT_THAT(said.out, IsEmpty());
  }
}

TEST(ReportCommand, ExplainsItself) {
  for (const char* const option : {"--help", "-h"}) {
    const Said said = Report({"acc=1", option});
    EXPECT_EQ(said.exit_status, 0);
    EXPECT_THAT(said.out, HasSubstr("Usage: tune report NAME=NUMBER"));
  }
}

// ---- the server's side

TEST(ProgramServer, HearsSeveralProgramsAtOnceAndAnswersEach) {
  Result<ProgramServer> server = ProgramServer::Open();
  ASSERT_TRUE(server.ok());
  std::vector<Said> said(8);
  std::vector<std::thread> programs;
  for (size_t i = 0; i < said.size(); ++i) {
    programs.emplace_back(
        [&, i] { said[i] = Report({"acc=" + std::to_string(i)}, server->name()); });
  }
  // Odd ones are told to stop.
  for (size_t answered = 0; answered < said.size();) {
    for (const ProgramServer::Line& line : AwaitLines(*server)) {
      const auto report = ParseProgramReport(line.text);
      EXPECT_TRUE(report.ok());
      const bool stops = static_cast<int>(report->metrics[0].second) % 2 == 1;
      server->Reply(line.client, EncodeProgramAnswer({stops, 1}));
      ++answered;
    }
  }
  for (std::thread& program : programs) program.join();
  for (size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i].exit_status, i % 2 == 1 ? 10 : 0);
}

TEST(ProgramServer, TwoHaveNamesOfTheirOwn) {
  EXPECT_NE(ProgramServer::Open()->name(), ProgramServer::Open()->name());
}

}  // namespace
}  // namespace tune
