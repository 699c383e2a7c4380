// What the trial programs do with checkpoints: what they go on from is whole, what they save is
// durable and their own, and what went wrong is told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/small_disk.h"
#include "tests/trial_runner/driven_trial.h"
#include "tests/trial_runner/message_samples.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string ReadText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// One way to harm a file.
struct Damage {
  const char* name;
  void (*apply)(const fs::path& file);
};
constexpr Damage kDamages[] = {
    {"a flipped bit in the middle",
     [](const fs::path& file) {
       std::string text = ReadText(file);
       text[text.size() / 2] ^= 1;
       WriteText(file, text);
     }},
    {"the last byte changed",
     [](const fs::path& file) {
       std::string text = ReadText(file);
       text[text.size() - 1] ^= 4;
       WriteText(file, text);
     }},
    {"cut short", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }},
    {"empty", [](const fs::path& file) { fs::resize_file(file, 0); }},
    {"longer", [](const fs::path& file) { WriteText(file, ReadText(file) + "more"); }},
    {"zeros of the same length",
     [](const fs::path& file) { WriteText(file, std::string(fs::file_size(file), '\0')); }},
    {"gone", [](const fs::path& file) { fs::remove(file); }},
    {"a folder",
     [](const fs::path& file) {
       fs::remove(file);
       fs::create_directory(file);
     }},
};

class TrialCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tune_checkpoint_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    sweep_.experiment = "sweep";
    sweep_.base_dir = root_;
    sweep_.seed = 7;
  }
  void TearDown() override { fs::remove_all(root_); }

  void UseFood11() {
    program_ = "tune_trial_food11";
    sweep_.trainable = R"("food11")";
    sweep_.metric = "val_accuracy";
    config_ = R"({"data":"synthetic","image_size":32,"width_mult":0.35,"batch_size":32,)"
              R"("lr":0.01,"total_epochs":9,"patience":9})";
  }

  void UseCurve(const std::string& more = R"("checkpoint_bytes":"64KiB")") {
    program_ = "tune_trial";
    sweep_.trainable = R"({"curve":{"value":"t","iterations":9,)" + more + "}}";
    sweep_.metric = "value";
    config_ = "{}";
  }

  std::string TrialFolder() const { return root_ + "/sweep/0"; }
  StartAttempt AttemptOf(int64_t number, const Report* from = nullptr) const {
    StartAttempt start;
    start.ref = Ref(0, number, number);
    start.cpu_milli = 1000;
    start.config = config_;
    start.artifact_dir = TrialFolder();
    if (from == nullptr) return start;
    start.from_iteration = from->iteration;
    start.checkpoint_path = from->checkpoint.path;
    return start;
  }

  // An attempt that is stopped after `count` reports; these are returned.
  std::vector<Report> RunAttempt(int64_t number, int count, const Report* from = nullptr) {
    if (!trial_) trial_ = std::make_unique<DrivenTrial>(program_);
    trial_->Start(sweep_, AttemptOf(number, from));
    std::vector<Report> reports;
    for (int i = 1; i <= count; ++i) {
      reports.push_back(trial_->Expect<Report>());
      trial_->Answer(i == count ? ReportAnswer::kStop : ReportAnswer::kContinue);
    }
    EXPECT_EQ(trial_->Expect<TrialEnd>().outcome, Outcome::kStopped);
    return reports;
  }
  // The end of an attempt that reports nothing.
  TrialEnd EndOfAttempt(int64_t number, const Report* from = nullptr) {
    if (!trial_) trial_ = std::make_unique<DrivenTrial>(program_);
    trial_->Start(sweep_, AttemptOf(number, from));
    return trial_->Expect<TrialEnd>();
  }

  std::vector<std::string> Names(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return {names.begin(), names.end()};
  }

  // Every file of a checkpoint, harmed in every way, is told as a bad checkpoint; whole again, it
  // is used.
  void ExpectEveryDamageToBeTold(const std::vector<std::string>& files) {
    const std::vector<Report> reports = RunAttempt(1, 2);
    const fs::path folder = reports[1].checkpoint.path;
    const fs::path spare = root_ + "/spare";
    fs::copy(folder, spare, fs::copy_options::recursive);
    EXPECT_EQ(Names(folder), files);
    for (const std::string& file : files) {
      for (const Damage& damage : kDamages) {
        damage.apply(folder / file);
        const TrialEnd end = EndOfAttempt(2, &reports[1]);
        EXPECT_EQ(end.outcome, Outcome::kCrashed) << file << ": " << damage.name;
        EXPECT_EQ(end.detail, EndDetail::kBadCheckpoint) << file << ": " << damage.name;
        EXPECT_THAT(end.error, AllOf(HasSubstr("cannot go on from a checkpoint: "),
                                     HasSubstr((folder / file).string())));
        EXPECT_EQ(end.error.find('\n'), std::string::npos);
        fs::remove_all(folder / file);
        fs::copy(spare / file, folder / file);
      }
    }
    fs::rename(folder, root_ + "/away");
    const TrialEnd gone = EndOfAttempt(2, &reports[1]);
    EXPECT_EQ(gone.detail, EndDetail::kBadCheckpoint);
    EXPECT_THAT(gone.error, HasSubstr(folder.string()));
    fs::rename(root_ + "/away", folder);
    const std::vector<Report> after = RunAttempt(2, 1, &reports[1]);
    EXPECT_EQ(after[0].iteration, 3);
  }

  // The disk is full at the second checkpoint, and has room again.
  void ExpectAFullDiskToBeTold() {
    fs::create_directories(root_ + "/sweep");
    const SmallDisk disk(root_ + "/sweep", 32 << 20);
    if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
    DrivenTrial trial(program_);
    trial.Start(sweep_, AttemptOf(1));
    const Report first = trial.Expect<Report>();
    disk.Fill("ballast");
    trial.Answer(ReportAnswer::kContinue);
    const TrialEnd end = trial.Expect<TrialEnd>();
    EXPECT_EQ(end.outcome, Outcome::kCrashed);
    EXPECT_EQ(end.detail, EndDetail::kDiskFull);
    EXPECT_THAT(end.error, AllOf(HasSubstr("cannot save a checkpoint in " + TrialFolder() + ": "),
                                 HasSubstr("No space left on device")));
    EXPECT_THAT(Names(TrialFolder()), ElementsAre("checkpoint_000001")) << "nothing half-written";

    fs::remove(root_ + "/sweep/ballast");
    trial.Start(sweep_, AttemptOf(2, &first));
    const Report second = trial.Expect<Report>();
    EXPECT_EQ(second.iteration, 2);
    EXPECT_EQ(second.checkpoint.path, TrialFolder() + "/checkpoint_000002.2");
  }

  // Two iterations without a checkpoint, SIGTERM, one more with it, and the end.
  Report ToldToEndAfterTwoReports() {
    DrivenTrial trial(program_);
    StartAttempt start = AttemptOf(1);
    start.checkpoint_every = 1000;
    trial.Start(sweep_, start);
    EXPECT_FALSE(trial.Expect<Report>().has_checkpoint);
    trial.Answer(ReportAnswer::kContinue);
    EXPECT_FALSE(trial.Expect<Report>().has_checkpoint);
    trial.Signal(SIGTERM);
    trial.Answer(ReportAnswer::kContinue);
    const Report last = trial.Expect<Report>();
    EXPECT_TRUE(last.has_checkpoint);
    trial.Answer(ReportAnswer::kContinue);
    EXPECT_FALSE(trial.Listen().has_value());
    EXPECT_EQ(trial.Wait(), 128 + SIGTERM);
    return last;
  }

  std::string root_;
  std::string program_;
  std::string config_ = "{}";
  SweepInfo sweep_;
  std::unique_ptr<DrivenTrial> trial_;
};

TEST_F(TrialCheckpoint, Food11TellsEveryDamage) {
  UseFood11();
  ExpectEveryDamageToBeTold({"manifest.json", "model.safetensors", "state.safetensors"});
}

TEST_F(TrialCheckpoint, Food11TellsAFullDiskAndLeavesNothingHalfWritten) {
  UseFood11();
  ExpectAFullDiskToBeTold();
}

TEST_F(TrialCheckpoint, CurveTellsEveryDamage) {
  UseCurve();
  ExpectEveryDamageToBeTold({"manifest.json", "state.bin"});
}

TEST_F(TrialCheckpoint, CurveTellsAFullDiskAndLeavesNothingHalfWritten) {
  UseCurve();
  ExpectAFullDiskToBeTold();
}

TEST_F(TrialCheckpoint, CurveKnowsACheckpointOfAnotherIteration) {
  UseCurve();
  std::vector<Report> reports = RunAttempt(1, 2);
  EXPECT_GE(reports[0].checkpoint.bytes, 64 << 10);
  std::swap(reports[0].checkpoint.path, reports[1].checkpoint.path);
  EXPECT_THAT(EndOfAttempt(2, &reports[0]).error, HasSubstr("of another trial, iteration or seed"));
}

TEST_F(TrialCheckpoint, CurveSavesWhatWouldBeLostBeforeSigtermEndsIt) {
  UseCurve();
  const Report last = ToldToEndAfterTwoReports();
  EXPECT_EQ(RunAttempt(2, 1, &last)[0].iteration, 4);
}

TEST_F(TrialCheckpoint, Food11SavesWhatWouldBeLostBeforeSigtermEndsIt) {
  UseFood11();
  const Report last = ToldToEndAfterTwoReports();
  EXPECT_EQ(RunAttempt(2, 1, &last)[0].iteration, 4);
}

TEST_F(TrialCheckpoint, SigtermEndsATrialAtOnceWhereNothingWouldBeLost) {
  UseCurve(R"x("seconds":"1000 * (t > 2)")x");
  for (const int64_t every : {1, 2}) {
    DrivenTrial trial(program_);
    StartAttempt start = AttemptOf(1);
    start.checkpoint_every = every;
    trial.Start(sweep_, start);
    for (int i = 0; i < 2; ++i) {
      trial.Expect<Report>();
      trial.Answer(ReportAnswer::kContinue);
    }
    trial.Signal(SIGTERM);
    EXPECT_EQ(trial.Wait(), 128 + SIGTERM);
  }
}

TEST_F(TrialCheckpoint, OneThatMayBePausedAtTheNextIterationSavesIt) {
  const auto saved = [this](const char* program) {
    DrivenTrial trial(program);
    StartAttempt start = AttemptOf(1);
    start.checkpoint_every = 1000;
    start.saves_first = true;
    trial.Start(sweep_, start);
    std::vector<bool> has_checkpoint;
    for (const ReportAnswer answer : {ReportAnswer::kContinue, ReportAnswer::kSave,
                                      ReportAnswer::kContinue, ReportAnswer::kStop}) {
      has_checkpoint.push_back(trial.Expect<Report>().has_checkpoint);
      trial.Answer(answer);
    }
    EXPECT_EQ(trial.Expect<TrialEnd>().outcome, Outcome::kStopped);
    return has_checkpoint;
  };
  const auto first_and_third = ElementsAre(true, false, true, false);
  UseCurve();
  EXPECT_THAT(saved("tune_trial"), first_and_third);
  UseFood11();
  EXPECT_THAT(saved("tune_trial_food11"), first_and_third);
}

TEST_F(TrialCheckpoint, Food11GoesOnFromAnothersCheckpointUnderItsOwnConfiguration) {
  UseFood11();
  const std::vector<Report> reports = RunAttempt(1, 1);
  StartAttempt start = AttemptOf(1, &reports[0]);
  start.ref = Ref(1, 1, 2);
  start.artifact_dir = root_ + "/sweep/1";
  config_ = config_.replace(config_.find("0.01"), 4, "0.02");
  start.config = config_;
  start.has_other_config = true;
  trial_->Start(sweep_, start);
  EXPECT_EQ(trial_->Expect<Report>().iteration, 2);
  trial_->Answer(ReportAnswer::kStop);
  EXPECT_EQ(trial_->Expect<TrialEnd>().outcome, Outcome::kStopped);

  start.config = config_.replace(config_.find("0.35"), 4, "0.50");
  trial_->Start(sweep_, start);
  const TrialEnd end = trial_->Expect<TrialEnd>();
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_THAT(end.error, HasSubstr("another width_mult (0.35, now 0.5)"));
}

// Others may go on from what a trial saved before it exploited another.
TEST_F(TrialCheckpoint, WhatWasSavedUnderAnEarlierConfigurationStays) {
  UseCurve();
  const std::vector<Report> first = RunAttempt(1, 2);
  StartAttempt start = AttemptOf(2, &first[0]);
  start.config_since = AttemptNumber{2};
  trial_->Start(sweep_, start);
  EXPECT_EQ(trial_->Expect<Report>().iteration, 2);
  trial_->Answer(ReportAnswer::kStop);
  trial_->Expect<TrialEnd>();
  EXPECT_THAT(Names(TrialFolder()),
              ElementsAre("checkpoint_000001", "checkpoint_000002", "checkpoint_000002.2"));
}

TEST_F(TrialCheckpoint, OneThatIsToldToStopAndToEndTellsOfItsEndFirst) {
  UseCurve();
  DrivenTrial trial(program_);
  StartAttempt start = AttemptOf(1);
  start.checkpoint_every = 1000;
  trial.Start(sweep_, start);
  trial.Expect<Report>();
  trial.Signal(SIGTERM);
  trial.Answer(ReportAnswer::kStop);
  EXPECT_EQ(trial.Expect<TrialEnd>().outcome, Outcome::kStopped);
  EXPECT_EQ(trial.Wait(), 128 + SIGTERM);
}

TEST_F(TrialCheckpoint, ACurveSaysEachCauseOfAnEnd) {
  const std::pair<const char*, Outcome> causes[] = {
      {"out_of_memory", Outcome::kOutOfMemory},
      {"device_out_of_memory", Outcome::kDeviceOutOfMemory},
      {"bad_config", Outcome::kBadConfig}};
  for (const auto& [name, outcome] : causes) {
    UseCurve("\"" + std::string(name) + "\":1");
    trial_.reset();
    const TrialEnd end = EndOfAttempt(1);
    EXPECT_EQ(end.outcome, outcome) << name;
    EXPECT_EQ(end.detail, EndDetail::kNone);
    EXPECT_NE(end.error, "");
  }
}

TEST_F(TrialCheckpoint, Food11DoesNotCallACheckpointOfAnotherConfigurationDamaged) {
  UseFood11();
  const std::vector<Report> reports = RunAttempt(1, 1);
  config_ = R"({"data":"synthetic","image_size":64,"width_mult":0.35,"batch_size":32,"lr":0.01})";
  const TrialEnd end = EndOfAttempt(2, &reports[0]);
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_EQ(end.detail, EndDetail::kNone);
  EXPECT_THAT(end.error, HasSubstr("was made with another"));
}

// Attempt 1 is frozen, attempt 2 does its work, attempt 1 wakes up and saves once more.
TEST_F(TrialCheckpoint, Food11AttemptsThatOverlapDoNotTouchEachOther) {
  UseFood11();
  DrivenTrial frozen(program_);
  frozen.Start(sweep_, AttemptOf(1));
  const Report first = frozen.Expect<Report>();
  const std::vector<Report> second = RunAttempt(2, 2, &first);
  EXPECT_EQ(second[0].checkpoint.path, TrialFolder() + "/checkpoint_000002.2");
  const std::string manifest = ReadText(second[0].checkpoint.path + "/manifest.json");

  frozen.Answer(ReportAnswer::kContinue);
  const Report late = frozen.Expect<Report>();
  EXPECT_EQ(late.checkpoint.path, TrialFolder() + "/checkpoint_000002");
  EXPECT_EQ(ReadText(second[0].checkpoint.path + "/manifest.json"), manifest);
  EXPECT_EQ(RunAttempt(3, 1, &second[1])[0].iteration, 4);

  // A later attempt that makes an iteration again keeps its own in place of all earlier ones.
  RunAttempt(4, 1, &first);
  EXPECT_THAT(Names(TrialFolder()), ElementsAre("checkpoint_000001", "checkpoint_000002.4",
                                                "checkpoint_000003.2", "checkpoint_000004.3"));
}

// Counts what happens in a folder and in the folders that appear in it.
class FolderEvents {
 public:
  explicit FolderEvents(const std::string& folder) : folder_(folder) { TUNE_CHECK(Watch(folder_)); }
  ~FolderEvents() { close(fd_); }

  // Returns after `count` events, or when `other` becomes readable; whether it was the events.
  bool WaitFor(int count, int other) {
    while (count > 0) {
      pollfd ready[] = {{fd_, POLLIN, 0}, {other, POLLIN, 0}};
      TUNE_CHECK(poll(ready, 2, 60'000) > 0);
      if (ready[1].revents != 0) return false;
      alignas(inotify_event) char buffer[4096];
      const ssize_t size = read(fd_, buffer, sizeof buffer);
      for (ssize_t at = 0; at < size; --count) {
        const auto* const event = reinterpret_cast<const inotify_event*>(buffer + at);
        at += static_cast<ssize_t>(sizeof *event + event->len);
        if ((event->mask & IN_ISDIR) != 0 && event->len > 0) {
          (void)Watch(folder_ + "/" + event->name);  // It may be gone, or renamed, by now.
        }
      }
    }
    return true;
  }

 private:
  bool Watch(const std::string& folder) {
    return inotify_add_watch(fd_, folder.c_str(),
                             IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO) >= 0;
  }

  const std::string folder_;
  const int fd_ = inotify_init1(IN_CLOEXEC);
};

// Killed after the 1st, 2nd, ... thing that happens on disk while it saves: what has a checkpoint's
// name is whole, and is gone on from; what was half-written is gone after the next one.
TEST_F(TrialCheckpoint, KilledAtAnyMomentOfASaveLeavesWholeCheckpointsAlone) {
  UseCurve(R"("checkpoint_bytes":"2MiB")");
  int killed = 0;
  for (int step = 1; step <= 16; ++step) {
    fs::remove_all(root_ + "/sweep");
    DrivenTrial trial(program_);
    trial.Start(sweep_, AttemptOf(1));
    Report last = trial.Expect<Report>();
    FolderEvents events(TrialFolder());
    trial.Answer(ReportAnswer::kContinue);
    killed += events.WaitFor(step, trial.socket()) ? 1 : 0;
    trial.Kill();

    DrivenTrial next(program_);
    for (const std::string& name : Names(TrialFolder())) {
      if (name.ends_with(".tmp")) continue;
      last.iteration = std::stoi(name.substr(sizeof "checkpoint_" - 1));
      last.checkpoint.path = TrialFolder() + "/" + name;
    }
    next.Start(sweep_, AttemptOf(2, &last));
    EXPECT_EQ(next.Expect<Report>().iteration, last.iteration + 1) << "killed at step " << step;
    for (const std::string& name : Names(TrialFolder())) {
      EXPECT_FALSE(name.ends_with(".tmp")) << name << ", killed at step " << step;
    }
  }
  EXPECT_GT(killed, 4) << "else nothing was shown";
}

TEST_F(TrialCheckpoint, WhatAKilledAttemptLeftHalfWrittenIsRemovedByTheNext) {
  UseFood11();
  fs::create_directories(TrialFolder() + "/checkpoint_000001.tmp");
  WriteText(TrialFolder() + "/checkpoint_000001.tmp/model.safetensors", "half");
  RunAttempt(2, 1);
  EXPECT_THAT(Names(TrialFolder()), ElementsAre("checkpoint_000001.2"));
}

}  // namespace
}  // namespace tune
