// The state machine between a user's program and the worker: order, stops, checkpoints, ends.
#include "trial_runner/command/command_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/limits.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr ClientId kFirst{1};
constexpr ClientId kSecond{2};
constexpr char kByItself[] = R"({"command":["x"]})";
constexpr char kByRegex[] = R"j({"command":["x"],"metrics":{"acc":{"regex":"acc: ([0-9.]+)"}}})j";
constexpr char kByFile[] = R"({"command":["x"],"metrics":{"acc":{"json":"r.json"}}})";

class CommandTrialTest : public testing::Test {
 protected:
  void Begin(const std::string& trainable = kByItself, TrialStart start = {}) {
    spec_ = std::make_unique<CommandSpec>(*CommandSpec::Parse(*ParseJson(trainable)));
    if (start.metric.empty()) start.metric = "acc";
    trial_ = std::make_unique<CommandTrial>(start, *spec_);
    effects_.clear();
  }
  void SetUp() override { Begin(); }

  // ---- what happens

  void Reports(ClientId client, double acc, const std::string& checkpoint = "") {
    std::string line = EncodeProgramReport({{{"acc", acc}}, std::nullopt, checkpoint});
    line.pop_back();
    trial_->OnProgramLine(client, line);
  }
  void ReportsAt(int64_t iteration) {
    std::string line = EncodeProgramReport({{{"acc", 1}}, iteration, ""});
    line.pop_back();
    trial_->OnProgramLine(kFirst, line);
  }
  void Prints(const std::string& text) { trial_->OnOutput(OutputStream::kStdout, text); }
  void Continue() { trial_->OnAnswer(ReportAnswer::kContinue, now_); }
  void Stop() { trial_->OnAnswer(ReportAnswer::kStop, now_); }
  void Exit(int status) {
    ProgramEnd end;
    end.exit_status = status;
    trial_->OnProgramEnded(std::move(end));
  }
  void Pass(Duration time) {
    now_ = now_ + time;
    trial_->OnTime(now_);
  }

  // ---- what it decided: the next effect, of this kind

  template <typename Effect>
  Effect Next() {
    Collect();
    EXPECT_FALSE(effects_.empty()) << "nothing more is done";
    if (effects_.empty()) return {};
    const CommandEffect effect = std::move(effects_.front());
    effects_.pop_front();
    EXPECT_TRUE(std::holds_alternative<Effect>(effect)) << "effect " << effect.index();
    return std::holds_alternative<Effect>(effect) ? std::get<Effect>(effect) : Effect();
  }
  bool IsIdle() {
    Collect();
    return effects_.empty();
  }
  // An answer's "continue" or "stop" with its iteration, or the error.
  std::string NextReply(ClientId client) {
    const auto reply = Next<ReplyToProgram>();
    EXPECT_EQ(reply.client, client);
    EXPECT_THAT(reply.line, EndsWith("\n"));
    const Result<ProgramAnswer> answer = ParseProgramAnswer(reply.line);
    if (!answer.ok()) return answer.status().message();
    return (answer->stops ? "stop " : "continue ") + std::to_string(answer->iteration);
  }
  TrialEnd NextEnd() {
    const auto finish = Next<FinishAttempt>();
    EXPECT_TRUE(finish.end.has_value());
    return finish.end.value_or(TrialEnd());
  }

  std::unique_ptr<CommandTrial> trial_;
  std::vector<std::string> log_;
  Instant now_{1'000'000};

 private:
  void Collect() {
    for (CommandEffect& effect : trial_->TakeEffects()) {
      const auto* const line = std::get_if<AddToLog>(&effect);
      if (line != nullptr) {
        log_.push_back(line->line);
      } else {
        effects_.push_back(std::move(effect));
      }
    }
  }

  std::unique_ptr<CommandSpec> spec_;
  std::deque<CommandEffect> effects_;
};

// ---- reports

TEST_F(CommandTrialTest, AReportGoesOutAndItsAnswerComesBack) {
  Reports(kFirst, 0.5);
  const Report sent = Next<SendReport>().report;
  EXPECT_EQ(sent.iteration, 1);
  EXPECT_THAT(sent.metrics, ElementsAre(Pair("acc", 0.5)));
  EXPECT_FALSE(sent.final);
  EXPECT_FALSE(sent.has_checkpoint);
  EXPECT_TRUE(IsIdle()) << "the answer comes when it is decided";
  Continue();
  EXPECT_EQ(NextReply(kFirst), "continue 1");
}

TEST_F(CommandTrialTest, OneReportIsUnderWayAtATimeAndTheOthersKeepTheirOrder) {
  Reports(kFirst, 1);
  Reports(kSecond, 2);
  Reports(kFirst, 3);
  for (const auto& [client, acc] : {std::pair(kFirst, 1), {kSecond, 2}, {kFirst, 3}}) {
    const Report sent = Next<SendReport>().report;
    EXPECT_EQ(sent.iteration, acc);
    EXPECT_THAT(sent.metrics, ElementsAre(Pair("acc", acc)));
    EXPECT_TRUE(IsIdle());
    Continue();
    EXPECT_EQ(NextReply(client), "continue " + std::to_string(acc));
  }
  EXPECT_TRUE(IsIdle());
}

TEST_F(CommandTrialTest, IterationsCountOnFromTheLastOneOrAsTheProgramSays) {
  TrialStart start;
  start.from_iteration = 4;
  Begin(kByItself, start);
  Reports(kFirst, 1);
  EXPECT_EQ(Next<SendReport>().report.iteration, 5);
  Continue();
  EXPECT_EQ(NextReply(kFirst), "continue 5");
  ReportsAt(10);
  EXPECT_EQ(Next<SendReport>().report.iteration, 10);
  Continue();
  EXPECT_EQ(NextReply(kFirst), "continue 10");
  Reports(kFirst, 1);
  EXPECT_EQ(Next<SendReport>().report.iteration, 11);
}

TEST_F(CommandTrialTest, AnIterationThatDoesNotRiseIsRefusedAndChangesNothing) {
  ReportsAt(5);
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  for (const int64_t iteration : {5, 4, 1}) {
    ReportsAt(iteration);
    EXPECT_EQ(NextReply(kFirst), "training_iteration: read " + std::to_string(iteration) +
                                     ", expected more than the last one, 5");
  }
  Reports(kFirst, 1);
  EXPECT_EQ(Next<SendReport>().report.iteration, 6);
}

TEST_F(CommandTrialTest, AfterTheLastIterationThereIsThoughtOfNoOther) {
  ReportsAt(kProgramIterationMax);
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  Reports(kFirst, 1);
  EXPECT_THAT(NextReply(kFirst), HasSubstr("training_iteration: there is none after "));
}

TEST_F(CommandTrialTest, WhatIsReportedWithoutTheMetricBelongsToTheIterationUnderWay) {
  const auto says = [this](const Metrics& metrics, std::optional<int64_t> iteration = {}) {
    std::string line = EncodeProgramReport({metrics, iteration, ""});
    line.pop_back();
    trial_->OnProgramLine(kFirst, line);
    const int64_t sent = Next<SendReport>().report.iteration;
    Continue();
    return std::to_string(sent) + ", " + NextReply(kFirst);
  };
  EXPECT_EQ(says({{"loss", 2}}), "1, continue 0") << "no iteration lies behind it";
  EXPECT_EQ(says({{"loss", 1}}), "1, continue 0");
  EXPECT_EQ(says({{"acc", 0.5}}), "1, continue 1");
  EXPECT_EQ(says({{"loss", 1}}), "2, continue 1");
  EXPECT_EQ(says({{"acc", 0.6}, {"loss", 1}}), "2, continue 2");
  // The caller's own count of steps.
  EXPECT_EQ(says({{"loss", 1}}, 100), "100, continue 2");
  EXPECT_EQ(says({{"loss", 1}}, 200), "200, continue 2");
  EXPECT_EQ(says({{"acc", 0.7}}, 200), "200, continue 200");
}

TEST_F(CommandTrialTest, AMetricMadeOfOthersIsWholeWhenTheLastOfThemHasCome) {
  TrialStart start;
  start.metric = "acc - size";
  Begin(kByItself, start);
  for (const char* const name : {"acc", "size"}) {
    std::string line = EncodeProgramReport({{{name, 1}}, std::nullopt, ""});
    line.pop_back();
    trial_->OnProgramLine(kFirst, line);
    EXPECT_EQ(Next<SendReport>().report.iteration, 1);
    Continue();
    EXPECT_EQ(NextReply(kFirst), std::string(name) == "acc" ? "continue 0" : "continue 1");
  }
}

TEST_F(CommandTrialTest, ACheckpointWithoutTheMetricIsRefusedUnlessItsIterationIsNamed) {
  std::string line = EncodeProgramReport({{{"loss", 1}}, std::nullopt, "/m/model.pt"});
  line.pop_back();
  trial_->OnProgramLine(kFirst, line);
  EXPECT_THAT(NextReply(kFirst), AllOf(HasSubstr("checkpoint: this report has no value of acc"),
                                       HasSubstr("name its iteration (step)")));
  line = EncodeProgramReport({{{"loss", 1}}, 5, "/m/model.pt"});
  line.pop_back();
  trial_->OnProgramLine(kFirst, line);
  EXPECT_EQ(Next<SaveProgramCheckpoint>().iteration, 5);
}

TEST_F(CommandTrialTest, ALineThatIsNoReportIsRefusedAtOnce) {
  Reports(kFirst, 1);
  Next<SendReport>();
  trial_->OnProgramLine(kSecond, R"({"report":{"metrics":{"acc":"high"}}})");
  EXPECT_EQ(NextReply(kSecond), "acc: read 'high', expected a number");
  trial_->OnProgramLine(kSecond, "hello");
  EXPECT_THAT(NextReply(kSecond), HasSubstr("not JSON"));
  Continue();
  EXPECT_EQ(NextReply(kFirst), "continue 1");
}

TEST_F(CommandTrialTest, AProgramWhoseOutputIsReadMayNotReportBesides) {
  Begin(kByRegex);
  Reports(kFirst, 1);
  EXPECT_THAT(NextReply(kFirst), HasSubstr("metrics: under trainable:"));
  EXPECT_TRUE(IsIdle());
}

TEST_F(CommandTrialTest, NumbersInTheOutputAreReportsOfTheSameOrder) {
  Begin(kByRegex);
  Prints("acc: 0.1\nacc: 0.2\nacc:");
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 0.1)));
  Prints(" 0.3\n");
  EXPECT_TRUE(IsIdle());
  for (const double acc : {0.2, 0.3}) {
    Continue();
    EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", acc)));
  }
  Continue();
  EXPECT_TRUE(IsIdle()) << "nobody asked";
}

TEST_F(CommandTrialTest, OneThatReportsFasterThanIsAnsweredMustWait) {
  Begin(kByRegex);
  EXPECT_TRUE(trial_->HasRoom());
  std::string lines;
  for (int i = 0; i < 2'000; ++i) lines += "acc: 1\n";
  Prints(lines);
  EXPECT_FALSE(trial_->HasRoom());
  for (int i = 0; i < 1'500; ++i) Continue();
  EXPECT_TRUE(trial_->HasRoom());
}

// ---- checkpoints

TEST_F(CommandTrialTest, ACheckpointIsCopiedBeforeTheReportGoesOut) {
  Reports(kFirst, 0.5, "/w/model.pt");
  const auto save = Next<SaveProgramCheckpoint>();
  EXPECT_EQ(save.path, "/w/model.pt");
  EXPECT_EQ(save.iteration, 1);
  EXPECT_TRUE(IsIdle());
  trial_->OnSaved(CheckpointRef{"/a/0/checkpoint_000001", 10, "00ff"});
  const Report sent = Next<SendReport>().report;
  EXPECT_TRUE(sent.has_checkpoint);
  EXPECT_EQ(sent.checkpoint.path, "/a/0/checkpoint_000001");
  Continue();
  EXPECT_EQ(NextReply(kFirst), "continue 1");
}

TEST_F(CommandTrialTest, OneThatCannotBeCopiedRefusesTheReportAndTheNextOneGoesOn) {
  Reports(kFirst, 0.5, "/w/gone");
  Reports(kSecond, 0.6);
  Next<SaveProgramCheckpoint>();
  trial_->OnSaved(NotFound("/w/gone: no such file or folder"));
  EXPECT_EQ(NextReply(kFirst), "checkpoint: /w/gone: no such file or folder");
  EXPECT_EQ(Next<SendReport>().report.iteration, 1) << "the refused one was none";
}

TEST_F(CommandTrialTest, AFullDiskEndsTheAttemptWithItsReason) {
  Reports(kFirst, 0.5, "/w/model.pt");
  Reports(kSecond, 0.6);
  Next<SaveProgramCheckpoint>();
  trial_->OnDiskFull("/a/0", ResourceExhausted("write /a/0/x: No space left on device"));
  EXPECT_TRUE(Next<SignalProgram>().kill);
  EXPECT_TRUE(IsIdle()) << "until it is gone";
  ProgramEnd end;
  end.signal = "SIGKILL";
  trial_->OnProgramEnded(std::move(end));
  const TrialEnd verdict = NextEnd();
  EXPECT_EQ(verdict.outcome, Outcome::kCrashed);
  EXPECT_EQ(verdict.detail, EndDetail::kDiskFull);
  EXPECT_THAT(verdict.error, HasSubstr("cannot save a checkpoint in /a/0"));
  EXPECT_TRUE(IsIdle());
}

TEST_F(CommandTrialTest, OnlyCheckpointsThatAreDueAreCopied) {
  TrialStart start;
  start.checkpoint_every = 3;
  Begin(kByItself, start);
  for (const int64_t iteration : {1, 2}) {
    Reports(kFirst, 1, "/w/model.pt");
    EXPECT_EQ(Next<SendReport>().report.iteration, iteration);
    Continue();
    NextReply(kFirst);
  }
  Reports(kFirst, 1, "/w/model.pt");
  EXPECT_EQ(Next<SaveProgramCheckpoint>().iteration, 3);
}

TEST_F(CommandTrialTest, WhereItMayBePausedACheckpointIsCopiedWhetherDueOrNot) {
  TrialStart start;
  start.checkpoint_every = 1'000;
  start.saves_first = true;
  Begin(kByItself, start);
  const auto save = [this](int64_t iteration) {
    Reports(kFirst, 1, "/w/model.pt");
    EXPECT_EQ(Next<SaveProgramCheckpoint>().iteration, iteration);
    trial_->OnSaved(CheckpointRef{"/a/0/checkpoint", 1, "00"});
    EXPECT_TRUE(Next<SendReport>().report.has_checkpoint);
  };
  save(1);
  Continue();
  NextReply(kFirst);
  Reports(kFirst, 1, "/w/model.pt");
  EXPECT_FALSE(Next<SendReport>().report.has_checkpoint);
  trial_->OnAnswer(ReportAnswer::kSave, now_);
  NextReply(kFirst);
  save(3);
}

TEST_F(CommandTrialTest, OneThatIsToldToEndHasItsLastCheckpointCopiedWhetherDueOrNot) {
  TrialStart start;
  start.checkpoint_every = 1'000;
  Begin(kByItself, start);
  trial_->OnTerminate(now_);
  Reports(kFirst, 1, "/w/model.pt");
  EXPECT_EQ(Next<SaveProgramCheckpoint>().iteration, 1);
}

// ---- stops

TEST_F(CommandTrialTest, AStopIsToldAndTheProgramEndsByItself) {
  Reports(kFirst, 0.5);
  Next<SendReport>();
  Stop();
  EXPECT_EQ(NextReply(kFirst), "stop 1");
  EXPECT_TRUE(IsIdle());
  Exit(0);
  EXPECT_EQ(NextEnd().outcome, Outcome::kStopped);
  EXPECT_EQ(trial_->NextDeadline(), std::nullopt);
}

TEST_F(CommandTrialTest, ARefusedReportStopsToo) {
  Reports(kFirst, 0.5);
  Next<SendReport>();
  trial_->OnAnswer(ReportAnswer::kRefused, now_);
  EXPECT_EQ(NextReply(kFirst), "stop 1");
}

TEST_F(CommandTrialTest, AStopAnswersAllThatWaitAndAllThatComesAfter) {
  Reports(kFirst, 1);
  Reports(kSecond, 2, "/w/model.pt");
  ReportsAt(1);
  Next<SendReport>();
  Stop();
  EXPECT_EQ(NextReply(kFirst), "stop 1");
  EXPECT_EQ(NextReply(kSecond), "stop 1");
  EXPECT_EQ(NextReply(kFirst), "stop 1");
  Reports(kSecond, 3);
  EXPECT_EQ(NextReply(kSecond), "stop 1");
  EXPECT_TRUE(IsIdle()) << "nothing is sent or copied";
}

TEST_F(CommandTrialTest, OneThatDoesNotListenIsTerminatedAfterAWhileAndThenKilled) {
  Reports(kFirst, 0.5);
  Next<SendReport>();
  Stop();
  NextReply(kFirst);
  const Instant terminate_at = trial_->NextDeadline().value();
  EXPECT_LT(terminate_at, now_ + Milliseconds(limits::kStopGraceMs)) << "before the worker does";
  Pass(Duration{(terminate_at - now_).us - 1});
  EXPECT_TRUE(IsIdle());
  Pass(Duration{1});
  EXPECT_FALSE(Next<SignalProgram>().kill);
  const Instant kill_at = trial_->NextDeadline().value();
  EXPECT_EQ(kill_at, now_ + Milliseconds(limits::kKillGraceMs));
  Pass(kill_at - now_);
  EXPECT_TRUE(Next<SignalProgram>().kill);
  EXPECT_EQ(trial_->NextDeadline(), std::nullopt);
  Exit(137);
  EXPECT_EQ(NextEnd().outcome, Outcome::kStopped) << "however it ended";
}

TEST_F(CommandTrialTest, OneWhoseOutputIsReadIsTerminatedAtOnce) {
  Begin(kByRegex);
  Prints("acc: 1\nacc: 2\n");
  Next<SendReport>();
  Stop();
  EXPECT_FALSE(Next<SignalProgram>().kill);
  EXPECT_EQ(trial_->NextDeadline(), now_ + Milliseconds(limits::kKillGraceMs));
  Prints("acc: 3\n");
  EXPECT_TRUE(IsIdle()) << "what it prints after a stop is not counted";
  ProgramEnd end;
  end.signal = "SIGTERM";
  trial_->OnProgramEnded(std::move(end));
  EXPECT_EQ(NextEnd().outcome, Outcome::kStopped);
}

TEST_F(CommandTrialTest, AStopThatComesAfterTheProgramsEndEndsTheAttempt) {
  Begin(kByRegex);
  Prints("acc: 1\nacc: 2\n");
  Next<SendReport>();
  Exit(0);
  EXPECT_TRUE(IsIdle()) << "what it printed is decided first";
  Stop();
  EXPECT_EQ(NextEnd().outcome, Outcome::kStopped);
  EXPECT_TRUE(IsIdle());
}

// ---- being ended by the worker

TEST_F(CommandTrialTest, OneThatTheWorkerEndsLeavesWithoutAWord) {
  Reports(kFirst, 1);
  Next<SendReport>();
  trial_->OnTerminate(now_);
  EXPECT_TRUE(IsIdle()) << "its group got the signal too";
  EXPECT_LT(trial_->NextDeadline().value(), now_ + Milliseconds(limits::kKillGraceMs));
  Continue();
  NextReply(kFirst);
  Exit(143);
  EXPECT_EQ(Next<FinishAttempt>().end, std::nullopt);
}

TEST_F(CommandTrialTest, OneThatIgnoresItIsKilledBeforeTheWorkerWould) {
  trial_->OnTerminate(now_);
  Pass(trial_->NextDeadline().value() - now_);
  EXPECT_TRUE(Next<SignalProgram>().kill);
}

// What is killed by the worker's SIGKILL alone would leave processes behind that left the group.
TEST_F(CommandTrialTest, NothingThatComesLaterGivesItMoreTime) {
  trial_->OnTerminate(now_);
  const Instant kill_at = trial_->NextDeadline().value();
  Pass(Milliseconds(1'000));
  trial_->OnTerminate(now_);
  EXPECT_EQ(trial_->NextDeadline(), kill_at) << "a second signal";
  Reports(kFirst, 1);
  Next<SendReport>();
  Stop();
  EXPECT_EQ(NextReply(kFirst), "stop 1");
  EXPECT_EQ(trial_->NextDeadline(), kill_at) << "a stop";
  Pass(kill_at - now_);
  EXPECT_TRUE(Next<SignalProgram>().kill);

  Begin(kByRegex);
  Prints("acc: 1\n");
  Next<SendReport>();
  trial_->OnTerminate(now_);
  const Instant of_output = trial_->NextDeadline().value();
  Pass(Milliseconds(1'000));
  Stop();
  EXPECT_EQ(trial_->NextDeadline(), of_output) << "a stop of one whose output is read";
}

TEST_F(CommandTrialTest, AStopThatWaitsForItsTimeGivesWayToTheWorkersSignal) {
  Reports(kFirst, 1);
  Next<SendReport>();
  Stop();
  NextReply(kFirst);
  const Instant terminate_at = trial_->NextDeadline().value();
  trial_->OnTerminate(now_);
  EXPECT_LT(trial_->NextDeadline().value(), terminate_at);
}

// ---- a worker that leaves

TEST_F(CommandTrialTest, OneWithoutCheckpointsIsToldAtOnceWhenItsWorkerLeaves) {
  Reports(kFirst, 1);
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  trial_->OnLeave(Seconds(25), now_);
  EXPECT_FALSE(Next<SignalProgram>().kill) << "it may save in a way of its own";
  EXPECT_EQ(trial_->NextDeadline(), now_ + Milliseconds(24'500));
  Exit(143);
  EXPECT_EQ(Next<FinishAttempt>().end, std::nullopt);
}

TEST_F(CommandTrialTest, OneWithCheckpointsGoesOnToItsNextReportAndStopsThere) {
  TrialStart start;
  start.checkpoint_every = 1'000;
  Begin(kByItself, start);
  Reports(kFirst, 1, "/w/model.pt");
  EXPECT_FALSE(Next<SendReport>().report.has_checkpoint);
  Continue();
  NextReply(kFirst);
  trial_->OnLeave(Seconds(25), now_);
  EXPECT_TRUE(IsIdle()) << "it finishes its iteration";
  Reports(kFirst, 2, "/w/model.pt");
  EXPECT_EQ(Next<SaveProgramCheckpoint>().iteration, 2) << "due or not";
  trial_->OnSaved(CheckpointRef{"/a/0/checkpoint", 1, "00"});
  EXPECT_TRUE(Next<SendReport>().report.has_checkpoint);
  Continue();
  EXPECT_EQ(NextReply(kFirst), "stop 2");
  Exit(0);
  EXPECT_EQ(Next<FinishAttempt>().end, std::nullopt);
}

TEST_F(CommandTrialTest, AReportWhoseCheckpointIsOnItsWayIsItsLastWhenItsWorkerLeaves) {
  Reports(kFirst, 1, "/w/model.pt");
  Next<SaveProgramCheckpoint>();
  trial_->OnSaved(CheckpointRef{"/a/0/checkpoint", 1, "00"});
  Next<SendReport>();
  trial_->OnLeave(Seconds(25), now_);
  Continue();
  EXPECT_EQ(NextReply(kFirst), "stop 1");
}

TEST_F(CommandTrialTest, OneThatWentOnFromACheckpointIsExpectedToSave) {
  TrialStart start;
  start.checkpoint_path = "/a/0/checkpoint";
  Begin(kByItself, start);
  trial_->OnLeave(Seconds(25), now_);
  EXPECT_TRUE(IsIdle());
}

TEST_F(CommandTrialTest, OneWhoseIterationIsTooLongIsToldBeforeItsWorkerGoes) {
  Reports(kFirst, 1, "/w/model.pt");
  Next<SaveProgramCheckpoint>();
  trial_->OnSaved(CheckpointRef{"/a/0/checkpoint", 1, "00"});
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  trial_->OnLeave(Seconds(25), now_);
  EXPECT_EQ(trial_->NextDeadline(), now_ + Milliseconds(20'000));
  Pass(Seconds(20));
  EXPECT_FALSE(Next<SignalProgram>().kill);
  Pass(Milliseconds(4'499));
  EXPECT_TRUE(IsIdle());
  Pass(Milliseconds(1));
  EXPECT_TRUE(Next<SignalProgram>().kill) << "before the worker kills the process that runs it";
}

TEST_F(CommandTrialTest, AShortGraceIsForTheProgramsOwnWayToSave) {
  Reports(kFirst, 1, "/w/model.pt");
  Next<SaveProgramCheckpoint>();
  trial_->OnSaved(CheckpointRef{"/a/0/checkpoint", 1, "00"});
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  trial_->OnLeave(Milliseconds(limits::kKillGraceMs), now_);
  EXPECT_FALSE(Next<SignalProgram>().kill);
  EXPECT_EQ(trial_->NextDeadline(), now_ + Milliseconds(limits::kKillGraceMs - 500));
}

TEST_F(CommandTrialTest, ARankEndsAtOnceSinceOthersWouldGoOnWithoutIt) {
  TrialStart start;
  start.world_size = 2;
  start.checkpoint_path = "/a/0/checkpoint";
  Begin(kByItself, start);
  trial_->OnLeave(Seconds(25), now_);
  EXPECT_FALSE(Next<SignalProgram>().kill);
}

TEST_F(CommandTrialTest, OneThatHasEndedSaysHowAlthoughItsWorkerLeaves) {
  Begin(kByRegex);
  Prints("acc: 1\nacc: 2\n");
  Next<SendReport>();
  Exit(0);
  trial_->OnLeave(Seconds(25), now_);
  Continue();
  Next<SendReport>();
  Continue();
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

// ---- ends

TEST_F(CommandTrialTest, StatusZeroWithAReportOfTheMetricCompletes) {
  Reports(kFirst, 1);
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  Exit(0);
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, AReportThatWaitsWhenTheProgramEndsIsStillMade) {
  Reports(kFirst, 1);
  Reports(kFirst, 2);
  Exit(0);
  EXPECT_EQ(Next<SendReport>().report.iteration, 1);
  EXPECT_TRUE(IsIdle());
  Continue();
  NextReply(kFirst);
  EXPECT_EQ(Next<SendReport>().report.iteration, 2);
  Continue();
  NextReply(kFirst);
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, StatusZeroWithoutTheMetricIsNoMetric) {
  trial_->OnProgramLine(kFirst, R"({"report":{"metrics":{"loss":1}}})");
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  Prints("done, see report.txt\n");
  Exit(0);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_EQ(end.error,
            "no_metric: the program ended with status 0 and never reported 'acc', but loss; the "
            "last that it printed: done, see report.txt");
}

TEST_F(CommandTrialTest, AMetricMadeOfOthersNeedsAReportWithAllOfThem) {
  TrialStart start;
  start.metric = "val.loss + 2 * time";
  const auto end_after = [&](const std::vector<std::string>& reports) {
    Begin(kByItself, start);
    for (const std::string& metrics : reports) {
      trial_->OnProgramLine(kFirst, R"({"report":{"metrics":)" + metrics + "}}");
      Next<SendReport>();
      Continue();
      NextReply(kFirst);
    }
    Exit(0);
    return NextEnd();
  };
  const TrialEnd end = end_after({R"({"time":1})", R"({"vla/loss":1,"time":1})"});
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_EQ(end.error,
            "no_metric: the program ended with status 0 and no report had everything that the "
            "metric 'val.loss + 2 * time' is made of: it lacked 'val/loss', but had time, "
            "vla/loss; did you mean 'vla/loss'?");
  EXPECT_EQ(end_after({R"({"val/loss":1,"time":1})", R"({"time":1})"}).outcome,
            Outcome::kCompleted);
  EXPECT_EQ(end_after({R"({"val.loss":"NaN","time":1})"}).outcome, Outcome::kCompleted);
  // A metric that is no expression is looked for by its own name alone.
  start.metric = "val/loss";
  EXPECT_EQ(end_after({R"({"val.loss":1})"}).outcome, Outcome::kBadConfig);
  EXPECT_EQ(end_after({R"({"val/loss":1})"}).outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, AnExpressionThatNeverMatchedIsNamed) {
  Begin(kByRegex);
  Prints("accuracy = 0.5\n");
  Exit(0);
  EXPECT_THAT(NextEnd().error, AllOf(HasSubstr("no_metric"), HasSubstr("'acc' found no number")));
}

TEST_F(CommandTrialTest, AMetricOfTheOtherStreamIsNamed) {
  Begin(kByRegex);
  trial_->OnOutput(OutputStream::kStderr, "acc: 0.5\n");
  Exit(0);
  EXPECT_THAT(NextEnd().error, HasSubstr("write from: stderr"));
}

TEST_F(CommandTrialTest, APartOfANumberEndsTheTrial) {
  Begin(kByRegex);
  Prints("acc: 0.5\n");
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 0.5)));
  Prints("acc: 1.98e-05\nacc: 0.25\n");
  EXPECT_TRUE(Next<SignalProgram>().kill);
  Continue();
  ProgramEnd end;
  end.signal = "SIGKILL";
  trial_->OnProgramEnded(std::move(end));
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kBadConfig);
  EXPECT_THAT(told.error, AllOf(HasSubstr("metrics: the regular expression of 'acc' took '1.98' "
                                          "out of '1.98e-05'"),
                                HasSubstr("{number}")));
}

TEST_F(CommandTrialTest, TheLogSaysWhereTheFirstReportWasRead) {
  Begin(kByRegex);
  Prints("epoch 1 acc: 0.5\nepoch 2 acc: 0.75\n");
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 0.5)));
  EXPECT_THAT(log_, ElementsAre("tune: read acc = 0.5 on standard output: epoch 1 acc: 0.5"));
}

TEST_F(CommandTrialTest, IterationsHaveTheNumbersThatWerePrinted) {
  Begin(R"j({"command":["x"],"metrics":{"acc":{"regex":"acc: {number}"}},)j"
        R"j("iteration":{"regex":"epoch {number}"}})j");
  Prints("epoch 5 acc: 0.5\n");
  EXPECT_EQ(Next<SendReport>().report.iteration, 5);
}

// Both objectives make one report, whichever is printed last.
TEST_F(CommandTrialTest, AReportHasAllObjectives) {
  TrialStart start;
  start.more_metrics = {"size * 2"};
  Begin(R"j({"command":["x"],"metrics":{"acc":{"regex":"acc: {number}"},)j"
        R"j("size":{"regex":"size: {number}"}}})j",
        start);
  Prints("acc: 1\nsize: 7\nacc: 2\n");
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 1), Pair("size", 7)));
  Continue();
  EXPECT_TRUE(IsIdle());
}

TEST_F(CommandTrialTest, ALineThatADeathCutIsNotRead) {
  for (const int status : {0, 1}) {
    Begin(kByRegex);
    Prints("acc: 0.25\n");
    EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 0.25)));
    Continue();
    Prints("acc: 9.5");
    Exit(status);
    if (status == 0) {
      EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 9.5)));
    } else {
      EXPECT_EQ(Next<FinishAttempt>().end->outcome, Outcome::kCrashed);
    }
  }
}

TEST_F(CommandTrialTest, WhatIsPrintedAfterTheWordToEndIsNotRead) {
  Begin(kByRegex);
  trial_->OnTerminate(now_);
  Prints("acc: 0.99\n");
  Exit(0);
  EXPECT_EQ(Next<FinishAttempt>().end, std::nullopt);
}

TEST_F(CommandTrialTest, WhatIsPrintedAtTheEndAloneIsInTheFinalReport) {
  Begin(R"j({"command":["x"],"metrics":{"acc":{"regex":"\\bacc: {number}"},)j"
        R"j("test":{"regex":"test: {number}"}}})j");
  Prints("acc: 1\ntest: 7\n");
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 1)));
  Continue();
  Exit(0);
  const Report last = Next<SendReport>().report;
  EXPECT_TRUE(last.final);
  EXPECT_THAT(last.metrics, ElementsAre(Pair("test", 7)));
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

// A metric of a printed part and one of a file has a value when both are there.
TEST_F(CommandTrialTest, AMetricOfOutputAndFileIsWholeAtTheEnd) {
  TrialStart start;
  start.metric = "acc - area";
  Begin(R"j({"command":["x"],"metrics":{"acc":{"regex":"acc: {number}"},"area":{"json":"r"}}})j",
        start);
  Prints("acc: 1\nacc: 2\n");
  EXPECT_TRUE(IsIdle());
  ProgramEnd end;
  end.file_metrics = Metrics{{"area", 3}};
  trial_->OnProgramEnded(std::move(end));
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("acc", 2), Pair("area", 3)));
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, OneThatGoesOnFromAReportNeedsNoOther) {
  TrialStart start;
  start.from_iteration = 9;
  Begin(kByItself, start);
  Exit(0);
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, AnotherStatusIsACrashWithTheLastLine) {
  Prints("Traceback\nValueError: lr must be positive\n\n");
  Exit(3);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_EQ(end.error, "the program exited with status 3: ValueError: lr must be positive");
}

TEST_F(CommandTrialTest, ASignalIsACrash) {
  ProgramEnd end;
  end.signal = "SIGSEGV";
  trial_->OnProgramEnded(std::move(end));
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kCrashed);
  EXPECT_EQ(told.error, "the program died of SIGSEGV");
}

TEST_F(CommandTrialTest, WhatRanOutOfMemoryIsToldByWhatItPrinted) {
  const std::pair<const char*, Outcome> cases[] = {
      {"torch.OutOfMemoryError: CUDA out of memory. Tried\n", Outcome::kDeviceOutOfMemory},
      {"Traceback\nMemoryError\n", Outcome::kOutOfMemory},
      {"terminate called after throwing an instance of 'std::bad_alloc'\n", Outcome::kOutOfMemory},
      {"NotAMemoryError\n", Outcome::kCrashed},
  };
  for (const auto& [text, outcome] : cases) {
    Begin();
    Prints(text);
    Exit(1);
    EXPECT_EQ(NextEnd().outcome, outcome) << text;
  }
}

TEST_F(CommandTrialTest, AProgramThatSpokeOfAFullDiskMetItWhereTheDiskIsFull) {
  const std::string words = "OSError: [Errno 28] No space left on device: 'model.pt'\n";
  const auto end_of = [this](const std::string& printed, bool is_disk_full) {
    Begin();
    Prints(printed);
    ProgramEnd end;
    end.exit_status = 1;
    end.full_disk = is_disk_full ? EndDetail::kDiskFull : EndDetail::kNone;
    trial_->OnProgramEnded(std::move(end));
    return NextEnd();
  };
  const TrialEnd full = end_of(words, true);
  EXPECT_EQ(full.outcome, Outcome::kCrashed);
  EXPECT_EQ(full.detail, EndDetail::kDiskFull);
  EXPECT_EQ(full.error, "the disk takes no writes: the program exited with status 1: " +
                            words.substr(0, words.size() - 1));
  EXPECT_EQ(end_of(words, false).detail, EndDetail::kNone);
  EXPECT_EQ(end_of("ValueError: lr must be positive\n", true).detail, EndDetail::kNone);
  EXPECT_EQ(end_of("OSError: [Errno 30] Read-only file system\n", true).detail, EndDetail::kNone);
}

TEST_F(CommandTrialTest, AProgramMetAReadOnlyDiskWhereItComplainsOfOneAndOneHasBecomeSo) {
  const auto end_of = [this](const std::string& printed, EndDetail read_only_disk) {
    Begin();
    Prints(printed);
    ProgramEnd end;
    end.exit_status = 1;
    end.read_only_disk = read_only_disk;
    trial_->OnProgramEnded(std::move(end));
    return NextEnd().detail;
  };
  const std::string words = "OSError: [Errno 30] Read-only file system: 'model.pt'\n";
  EXPECT_EQ(end_of(words, EndDetail::kOwnDiskFull), EndDetail::kOwnDiskFull);
  EXPECT_EQ(end_of(words, EndDetail::kNone), EndDetail::kNone);
  // Said in passing.
  EXPECT_EQ(
      end_of(words + "using no cache\nValueError: lr must be positive\n", EndDetail::kOwnDiskFull),
      EndDetail::kNone);
}

TEST_F(CommandTrialTest, OneThatHadTooMuchMemoryIsToldItsLimit) {
  ProgramEnd end;
  end.signal = "SIGKILL";
  end.memory_limit_bytes = 1'000'000;
  trial_->OnProgramEnded(std::move(end));
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kOutOfMemory);
  EXPECT_THAT(told.error, HasSubstr("1000000 bytes"));
}

TEST_F(CommandTrialTest, OneThatWasKilledSaysSoAndWhetherMemoryWasShort) {
  ProgramEnd end;
  end.signal = "SIGKILL";
  trial_->OnProgramEnded(end);
  EXPECT_EQ(NextEnd().outcome, Outcome::kKilled);
  Begin(kByRegex);
  end.by_oom_killer = true;
  trial_->OnProgramEnded(end);
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kOutOfMemory);
  EXPECT_THAT(told.error, HasSubstr("the system killed the program: memory is short"));
}

TEST_F(CommandTrialTest, NumbersOfFilesAreTheFinalReport) {
  Begin(kByFile);
  ProgramEnd end;
  end.file_metrics = Metrics{{"acc", 0.75}};
  trial_->OnProgramEnded(std::move(end));
  const Report sent = Next<SendReport>().report;
  EXPECT_TRUE(sent.final);
  EXPECT_EQ(sent.iteration, 1);
  EXPECT_THAT(sent.metrics, ElementsAre(Pair("acc", 0.75)));
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted) << "nothing is left to decide";
}

TEST_F(CommandTrialTest, NumbersOfFilesComeAfterAllThatItPrinted) {
  Begin(R"j({"command":["x"],"metrics":{"loss":{"regex":"loss: (.*)"},"acc":{"json":"r.json"}},)j"
        R"j("report_on":"loss"})j");
  Prints("loss: 1\nloss: 2");
  ProgramEnd end;
  end.file_metrics = Metrics{{"acc", 0.75}};
  trial_->OnProgramEnded(std::move(end));
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("loss", 1)));
  Continue();
  EXPECT_THAT(Next<SendReport>().report.metrics, ElementsAre(Pair("loss", 2)));
  Continue();
  const Report last = Next<SendReport>().report;
  EXPECT_TRUE(last.final);
  EXPECT_EQ(last.iteration, 1) << "the losses belong to the iteration of acc";
  EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
}

TEST_F(CommandTrialTest, AFileThatCannotBeReadIsTold) {
  Begin(kByFile);
  ProgramEnd end;
  end.file_metrics = NotFound("acc: r.json: No such file or directory");
  trial_->OnProgramEnded(std::move(end));
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kBadConfig);
  EXPECT_EQ(told.error, "metrics: acc: r.json: No such file or directory");
}

TEST_F(CommandTrialTest, TheNumbersOfOneThatFailedAreNotReported) {
  Begin(kByFile);
  ProgramEnd end;
  end.exit_status = 1;
  end.file_metrics = Metrics{{"acc", 0.75}};
  trial_->OnProgramEnded(std::move(end));
  EXPECT_EQ(NextEnd().outcome, Outcome::kCrashed);
}

TEST_F(CommandTrialTest, AnAnswerThatNobodyAwaitsChangesNothing) {
  Continue();
  Stop();
  EXPECT_TRUE(IsIdle());
  Reports(kFirst, 1);
  EXPECT_EQ(Next<SendReport>().report.iteration, 1);
}

// A report without `step` belongs to the iteration under way, which the metric's report numbers.
TEST_F(CommandTrialTest, AStepOfTheMetricAloneTakesWhatCameBefore) {
  const auto report = [&](Metrics metrics, std::optional<int64_t> iteration) {
    std::string line = EncodeProgramReport({std::move(metrics), iteration, ""});
    line.pop_back();
    trial_->OnProgramLine(kFirst, line);
    const Report sent = Next<SendReport>().report;
    Continue();
    (void)Next<ReplyToProgram>();
    return sent;
  };
  EXPECT_EQ(report({{"loss", 3}, {"lr", 1}}, std::nullopt).iteration, 1);
  EXPECT_EQ(report({{"loss", 2}}, std::nullopt).iteration, 1);
  const Report value = report({{"acc", 0.5}}, 100);
  EXPECT_EQ(value.iteration, 100);
  EXPECT_THAT(value.metrics,
              testing::UnorderedElementsAre(Pair("acc", 0.5), Pair("loss", 2), Pair("lr", 1)));
  EXPECT_EQ(report({{"loss", 1}}, std::nullopt).iteration, 101);
  EXPECT_THAT(report({{"acc", 0.6}}, 200).metrics,
              testing::UnorderedElementsAre(Pair("acc", 0.6), Pair("loss", 1)));
  // A step of its own stays with it.
  EXPECT_EQ(report({{"loss", 1}}, 210).iteration, 210);
  EXPECT_THAT(report({{"acc", 0.7}}, 300).metrics, ElementsAre(Pair("acc", 0.7)));
}

TEST_F(CommandTrialTest, ANoteOfAReportAfterTheStopGoesWithTheEnd) {
  Begin(kByRegex);
  Prints("epoch 1 acc: 0.5\nepoch 1 acc: 0.6\n");
  Next<SendReport>();
  Stop();
  Next<SignalProgram>();
  Exit(15);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kStopped);
  EXPECT_THAT(end.error,
              testing::StartsWith("note: two values of 'acc' are printed for one epoch"));
}

TEST_F(CommandTrialTest, AnErrorThatTheStatusHidesIsTold) {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: no\n";
  Begin(kByRegex);
  Prints("acc: 0.5\n" + traceback);
  Next<SendReport>();
  Continue();
  Exit(0);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kCompleted);
  EXPECT_THAT(end.error, HasSubstr("the last that it printed is 'ValueError: no'"));
  const auto note = [this](const std::string& output) {
    Begin(kByRegex);
    Prints("acc: 0.5\n" + output);
    Next<SendReport>();
    Continue();
    Exit(0);
    return NextEnd().error;
  };
  EXPECT_THAT(note(traceback + "done\n"),
              HasSubstr("among the last that it printed is 'ValueError: no'"));
  EXPECT_THAT(note("Training failed: no data\n"),
              HasSubstr("the last that it printed is 'Training failed: no data'"));
  EXPECT_THAT(note("Training failed: no data\nsee train.log\ndone\n"),
              HasSubstr("among the last that it printed is 'Training failed: no data'"));
  EXPECT_EQ(note("Upload failed: no network\na\nb\nc\n"), "");
  for (const char* const ordinary :
       {"Mean squared error: 0.5\n", "OOB prediction error:      4.67 %\n", "error: nan\n",
        "failed: [1, 2]\n", "done: all\n", "Failed to plot: no display\nsaved\n",
        "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No "
        "module "
        "named 'wandb'\n"}) {
    EXPECT_EQ(note(ordinary), "") << ordinary;
  }
  EXPECT_EQ(note(traceback + "1\n2\n3\n4\n5\n6\n"), "") << "it was caught long before the end";
  Begin(kByRegex);
  Prints(traceback + "caught, going on\nacc: 0.5\n");
  Next<SendReport>();
  Continue();
  Exit(0);
  EXPECT_EQ(NextEnd().error, "");
}

// The report came after it.
TEST_F(CommandTrialTest, AnErrorThatTheProgramCaughtBeforeItsLastReportIsNotTold) {
  Begin(kByItself);
  Reports(kFirst, 0.5);
  Prints("Traceback (most recent call last):\n  File \"a.py\"\nValueError: no\n");
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  Exit(0);
  EXPECT_EQ(NextEnd().error, "");
}

TEST_F(CommandTrialTest, TwoProcessesThatReportByTurnsAreTold) {
  Begin(kByItself);
  const auto note = [&](int64_t client) {
    trial_->OnProgramLine(ClientId{client}, R"({"report": {"metrics": {"acc": 0.5}}})");
    std::string told = Next<SendReport>().report.note;
    Continue();
    NextReply(ClientId{client});
    return told;
  };
  EXPECT_EQ(note(1), "");
  EXPECT_EQ(note(2), "") << "one after the other, as tune report does";
  EXPECT_EQ(note(3), "");
  EXPECT_THAT(note(2), testing::StartsWith("two processes of the program report by turns"));
  EXPECT_EQ(note(3), "") << "once";
}

TEST_F(CommandTrialTest, TwoShellsThatReportSideBySideAreTold) {
  int64_t client = 0;
  const auto note = [&](const ProgramSource& source) {
    const ClientId id{++client};
    trial_->OnProgramLine(id, R"({"report": {"metrics": {"acc": 0.5}}})", source);
    std::string told = Next<SendReport>().report.note;
    Continue();
    NextReply(id);
    return told;
  };
  Begin(kByItself);
  EXPECT_EQ(note({1, {1}}), "");
  EXPECT_EQ(note({2, {1, 2}}), "");
  EXPECT_THAT(note({1, {1, 2}}),
              testing::StartsWith("two processes of the program report by turns"));
  Begin(kByItself);
  EXPECT_EQ(note({1, {1}}), "");
  EXPECT_EQ(note({2, {1, 2}}), "");
  EXPECT_EQ(note({1, {1}}), "") << "the other shell has ended: a part of the program";
  EXPECT_EQ(note({3, {1, 3}}), "");
}

TEST_F(CommandTrialTest, ARefusedReportIsToldWithTheTrial) {
  const auto refuse = [this] {
    std::string line = EncodeRefusal("acc: read '2,7', expected a number");
    line.pop_back();
    trial_->OnProgramLine(kSecond, line);
    EXPECT_EQ(NextReply(kSecond), "acc: read '2,7', expected a number");
  };
  Begin(kByItself);
  Reports(kFirst, 0.5);
  Next<SendReport>();
  Continue();
  NextReply(kFirst);
  refuse();
  refuse();
  Exit(0);
  const TrialEnd told = NextEnd();
  EXPECT_EQ(told.outcome, Outcome::kCompleted);
  EXPECT_THAT(told.error, testing::StartsWith("2 reports were refused, the last one: acc: read "
                                              "'2,7', expected a number; the trial's values lack"));
  Begin(kByItself);
  refuse();
  Exit(0);
  const TrialEnd none = NextEnd();
  EXPECT_EQ(none.outcome, Outcome::kBadConfig);
  EXPECT_EQ(none.error,
            "no_metric: the program ended with status 0 and a report was refused: acc: "
            "read '2,7', expected a number");
  TrialStart restored;
  restored.from_iteration = 3;
  Begin(kByItself, restored);
  refuse();
  Exit(0);
  EXPECT_EQ(NextEnd().outcome, Outcome::kBadConfig) << "nothing of it was taken";
}

TEST_F(CommandTrialTest, ANoteGoesWithItsReportAndIntoTheLog) {
  Begin(kByRegex);
  Prints("epoch 1 acc: 0.5\nbest acc: 0.5\n");
  EXPECT_EQ(Next<SendReport>().report.note, "");
  Continue();
  EXPECT_THAT(Next<SendReport>().report.note, HasSubstr("lines of two kinds"));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("tune: read acc"), HasSubstr("tune: note: the regular")));
}

// ---- ranks

TrialStart RankStart(int64_t rank, const std::string& metric = "acc") {
  TrialStart start;
  start.metric = metric;
  start.rank = rank;
  start.world_size = 2;
  start.group.master_port = 20'123;
  return start;
}

TEST_F(CommandTrialTest, ReportsOfAnotherRankAreAnsweredAndGoNowhereAndOneNoteSaysSo) {
  Begin(kByItself, RankStart(1));
  Reports(kFirst, 0.5, "/m");
  EXPECT_EQ(NextReply(kFirst), "continue 1");
  Reports(kFirst, 0.6);
  EXPECT_EQ(NextReply(kFirst), "continue 2");
  EXPECT_TRUE(IsIdle());
  EXPECT_THAT(log_, ElementsAre(HasSubstr("rank 1 reports too, and only what rank 0 does counts")));
  Exit(0);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kCompleted);
  EXPECT_THAT(end.error, HasSubstr("values of other ranks: rank 1 reports too"));
}

TEST_F(CommandTrialTest, AnotherRankThatPrintsTheMetricIsNotedAndOneThatSaysNothingIsWell) {
  Begin(kByRegex, RankStart(1));
  Prints("acc: 0.5\nacc: 0.6\n");
  Exit(0);
  EXPECT_THAT(NextEnd().error, HasSubstr("rank 1 prints the metric too"));
  Begin(kByRegex, RankStart(1));
  Prints("hello\n");
  Exit(0);
  const TrialEnd end = NextEnd();
  EXPECT_EQ(end.outcome, Outcome::kCompleted);
  EXPECT_EQ(end.error, "");
}

// Whether each rank ends well is known when the last one has.
TEST_F(CommandTrialTest, AJobsStatusIsItsLastReportOnlyWhereItIsOneProgram) {
  for (const int64_t ranks : {1, 2}) {
    TrialStart start = RankStart(0, kExitStatusMetric);
    start.world_size = ranks;
    Begin(kByItself, start);
    Exit(0);
    const Report sent = Next<SendReport>().report;
    EXPECT_THAT(sent.metrics, ElementsAre(Pair(kExitStatusMetric, 0.0)));
    EXPECT_EQ(sent.final, ranks == 1);
    if (ranks == 2) Continue();
    EXPECT_EQ(NextEnd().outcome, Outcome::kCompleted);
  }
}

TEST_F(CommandTrialTest, ARankThatMissesAnotherSaysSo) {
  const auto end_of = [this](int64_t rank, const std::string& printed) {
    Begin(kByItself, RankStart(rank));
    Prints(printed);
    Exit(1);
    return NextEnd();
  };
  EXPECT_EQ(end_of(1, "RuntimeError: Connection closed by peer [10.0.0.7]:20123\n").detail,
            EndDetail::kRankLost);
  EXPECT_EQ(end_of(1, "ValueError: no\n").detail, EndDetail::kNone);
  const TrialEnd late =
      end_of(0, "DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 joined.\n");
  EXPECT_EQ(late.detail, EndDetail::kRankLost);
  EXPECT_THAT(late.error, HasSubstr("each of the 2 programs has to join the group"));
  const std::string in_use =
      "The server socket has failed to bind to [::]:20123 (errno: 98 - Address already in use)\n";
  EXPECT_THAT(end_of(0, in_use).error,
              HasSubstr("another program of this machine took port 20123 (MASTER_PORT)"));
  EXPECT_THAT(end_of(0, "bind: 0.0.0.0:80: Address already in use\n").error,
              testing::Not(HasSubstr("MASTER_PORT")));
}

}  // namespace
}  // namespace tune
