// What a program named as its checkpoint: a copy that is whole, or nothing.
#include "trial_runner/command/program_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/small_disk.h"
#include "tests/tuner/child_process.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProgramCheckpoint : public testing::Test {
 protected:
  CheckpointPlace PlaceOf(int64_t attempt = 1) const {
    TrialStart start;
    start.artifact_dir = folder_ / "sweep/0";
    start.attempt = AttemptNumber{attempt};
    return CheckpointPlace(start);
  }
  Result<CheckpointRef> Copy(const std::string& source, int64_t iteration = 5) {
    CheckpointPlace place = PlaceOf();
    return CopyProgramCheckpoint(place, iteration, source);
  }
  // Of one that is whole: where the program finds it.
  std::string Restored(const std::string& path) {
    const Result<std::string> restored = VerifyProgramCheckpoint(path);
    EXPECT_TRUE(restored.ok()) << restored.status().message();
    return restored.ok() ? *restored : "";
  }
  std::vector<std::string> Kept() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ / "sweep/0", error)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // A folder with a file, an empty one, and one below.
  std::string MakeFolder() const {
    const std::string source = folder_ / "model";
    fs::create_directories(source + "/deep/er");
    WriteText(source + "/weights", std::string(100'000, 'w'));
    WriteText(source + "/empty", "");
    WriteText(source + "/deep/er/state", "s");
    return source;
  }

  TempFolder folder_;
};

TEST_F(ProgramCheckpoint, AFileIsThereUnderItsName) {
  WriteText(folder_ / "model.pt", "weights");
  const Result<CheckpointRef> ref = Copy(folder_ / "model.pt");
  ASSERT_TRUE(ref.ok()) << ref.status().message();
  EXPECT_EQ(ref->path, folder_ / "sweep/0/checkpoint_000005");
  EXPECT_GT(ref->bytes, 7);
  EXPECT_EQ(ref->checksum.size(), 16u);
  EXPECT_EQ(Restored(ref->path), ref->path + "/data/model.pt");
  EXPECT_EQ(ReadText(ref->path + "/data/model.pt"), "weights");
  // What the program does with its own afterwards changes nothing.
  WriteText(folder_ / "model.pt", "other");
  Restored(ref->path);
}

TEST_F(ProgramCheckpoint, OfAnEarlierAttemptItGoesAndWhatTheProgramWroteBesideItStays) {
  WriteText(folder_ / "model.pt", "weights");
  ASSERT_TRUE(Copy(folder_ / "model.pt").ok());
  const std::string trial = folder_ / "sweep/0";
  fs::create_directories(trial + "/checkpoint_000005-2");
  WriteText(trial + "/checkpoint_000005-2/manifest.json", "{}");
  fs::create_directories(trial + "/checkpoint_000005-best");
  WriteText(trial + "/checkpoint_000005-ema.pt", "theirs");
  WriteText(trial + "/checkpoint_000005-3", "theirs");
  CheckpointPlace second = PlaceOf(2);
  ASSERT_TRUE(CopyProgramCheckpoint(second, 5, folder_ / "model.pt").ok());
  EXPECT_THAT(Kept(), ElementsAre("checkpoint_000005-3", "checkpoint_000005-best",
                                  "checkpoint_000005-ema.pt", "checkpoint_000005.2"));
}

TEST_F(ProgramCheckpoint, AProgramsOwnFolderOfSuchANameStaysWhenTheTrialIsTriedAgain) {
  const std::string own = folder_ / "sweep/0/checkpoint_000005";
  fs::create_directories(own);
  WriteText(own + "/weights", "first");
  const Result<CheckpointRef> first = Copy(own);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->path, own + "-2") << "the name was taken";
  CheckpointPlace second = PlaceOf(2);
  WriteText(own + "/weights", "second");
  ASSERT_TRUE(CopyProgramCheckpoint(second, 5, own).ok());
  EXPECT_EQ(ReadText(own + "/weights"), "second");
  EXPECT_THAT(Kept(), ElementsAre("checkpoint_000005", "checkpoint_000005.2"));
}

TEST_F(ProgramCheckpoint, AFolderIsThereWithAllThatIsInIt) {
  for (const std::string& source : {MakeFolder(), MakeFolder() + "/", MakeFolder() + "/."}) {
    const Result<CheckpointRef> ref = Copy(source);
    ASSERT_TRUE(ref.ok()) << ref.status().message();
    EXPECT_GT(ref->bytes, 100'001);
    const std::string restored = Restored(ref->path);
    EXPECT_EQ(restored, ref->path + "/data/model");
    EXPECT_EQ(ReadText(restored + "/weights").size(), 100'000u);
    EXPECT_EQ(ReadText(restored + "/deep/er/state"), "s");
    EXPECT_TRUE(fs::is_regular_file(restored + "/empty"));
  }
}

TEST_F(ProgramCheckpoint, LinksAreFollowed) {
  MakeFolder();
  fs::create_symlink("model", folder_ / "latest");
  fs::create_symlink("weights", folder_ / "model/link");
  const Result<CheckpointRef> ref = Copy(folder_ / "latest");
  ASSERT_TRUE(ref.ok()) << ref.status().message();
  const std::string restored = Restored(ref->path);
  EXPECT_EQ(restored, ref->path + "/data/latest");
  EXPECT_FALSE(fs::is_symlink(restored));
  EXPECT_FALSE(fs::is_symlink(restored + "/link"));
  EXPECT_EQ(ReadText(restored + "/link").size(), 100'000u);
}

TEST_F(ProgramCheckpoint, NamesNeedNotBeText) {
  const std::string source = folder_ / "mod\xff\"el";
  fs::create_directories(source);
  WriteText(source + "/a\nb\xfe", "x");
  const Result<CheckpointRef> ref = Copy(source);
  ASSERT_TRUE(ref.ok()) << ref.status().message();
  EXPECT_EQ(ReadText(Restored(ref->path) + "/a\nb\xfe"), "x");
}

TEST_F(ProgramCheckpoint, WhatIsNotThereIsTold) {
  const Status status = Copy(folder_ / "gone").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), folder_ / "gone: no such file or folder");
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(ProgramCheckpoint, WhatCannotBeCopiedLeavesNothingBehind) {
  MakeFolder();
  ASSERT_EQ(mkfifo((folder_ / "model/pipe").c_str(), 0644), 0);
  fs::create_directories(folder_ / "loop");
  fs::create_symlink(".", folder_ / "loop/again");
  fs::create_directories(folder_ / "dangling");
  fs::create_symlink("nowhere", folder_ / "dangling/link");
  for (const char* const name : {"model", "loop", "dangling"}) {
    const Result<CheckpointRef> ref = Copy(folder_ / name);
    EXPECT_FALSE(ref.ok()) << name;
    EXPECT_THAT(ref.status().message(), HasSubstr(folder_ / name));
    EXPECT_THAT(Kept(), IsEmpty()) << name;
  }
  EXPECT_FALSE(Copy("/").ok());
}

// A program that names its own folder, in which its checkpoints are kept.
TEST_F(ProgramCheckpoint, AFolderThatHoldsTheCheckpointsIsNone) {
  fs::create_directories(folder_ / "sweep/0");
  fs::create_symlink(folder_.path(), folder_ / "link");
  for (const std::string& source :
       {folder_.path(), folder_ / "sweep/0", folder_ / "sweep/0/.", folder_ / "link"}) {
    const Status status = Copy(source).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << source;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(source), HasSubstr("the folder that checkpoints are kept in")));
    EXPECT_THAT(Kept(), IsEmpty()) << source;
  }
  // What lies within it is another matter.
  WriteText(folder_ / "sweep/0/state", "s");
  EXPECT_TRUE(Copy(folder_ / "sweep/0/state").ok());
}

TEST_F(ProgramCheckpoint, AFullDiskIsToldAndLeavesNothingBehind) {
  const SmallDisk disk(folder_ / "sweep", 1 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  WriteText(folder_ / "large", std::string(4 << 20, 'x'));
  EXPECT_EQ(Copy(folder_ / "large").status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Kept(), IsEmpty());
  WriteText(folder_ / "small", "x");
  EXPECT_TRUE(Copy(folder_ / "small").ok());
}

TEST_F(ProgramCheckpoint, ALaterAttemptsTakesThePlaceOfAnEarlierOnesOfTheSameIteration) {
  WriteText(folder_ / "m", "1");
  ASSERT_TRUE(Copy(folder_ / "m", 4).ok());
  ASSERT_TRUE(Copy(folder_ / "m", 5).ok());
  CheckpointPlace second = PlaceOf(2);
  ASSERT_TRUE(CopyProgramCheckpoint(second, 5, folder_ / "m").ok());
  EXPECT_THAT(Kept(), ElementsAre("checkpoint_000004", "checkpoint_000005.2"));
}

TEST_F(ProgramCheckpoint, AnyHarmIsSeen) {
  const std::string path = Copy(MakeFolder())->path;
  const std::string weights = path + "/data/model/weights";
  const std::string manifest = path + "/manifest.json";
  const auto harm = [&](const char* what, const auto& apply) {
    const std::string before = folder_ / "before";
    fs::copy(path, before, fs::copy_options::recursive);
    apply();
    EXPECT_EQ(VerifyProgramCheckpoint(path).status().code(), StatusCode::kDataLoss) << what;
    fs::remove_all(path);
    fs::rename(before, path);
    Restored(path);
  };
  harm("a flipped bit", [&] {
    std::string text = ReadText(weights);
    text[50'000] ^= 1;
    WriteText(weights, text);
  });
  harm("a file cut short", [&] { fs::resize_file(weights, 99'999); });
  harm("a file that is gone", [&] { fs::remove(weights); });
  harm("a file more", [&] { WriteText(path + "/data/model/more", ""); });
  harm("another name", [&] { fs::rename(weights, path + "/data/model/wieghts"); });
  harm("no data", [&] { fs::remove_all(path + "/data"); });
  harm("no manifest", [&] { fs::remove(manifest); });
  harm("an empty manifest", [&] { WriteText(manifest, ""); });
  harm("a manifest of another form", [&] { WriteText(manifest, "[]"); });
  harm("a manifest that names another", [&] {
    std::string text = ReadText(manifest);
    text.replace(text.find("model"), 5, "../../");
    WriteText(manifest, text);
  });
}

// A person may take the bar away: it counts as no damage, for which it would be given up.
TEST_F(ProgramCheckpoint, OneThatMayNotBeReadIsNotDamaged) {
  WriteText(folder_ / "model.pt", "weights");
  const Result<CheckpointRef> saved = Copy(folder_ / "model.pt");
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  const fs::path manifest = fs::path(saved->path) / "manifest.json";
  const auto is_barred = [&] {
    return InChild([&] {
      BecomeNobody();
      const StatusCode code = VerifyProgramCheckpoint(saved->path).status().code();
      return std::string(code == StatusCode::kPermissionDenied ? "yes" : "no");
    });
  };
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(manifest, fs::perms::none);
  EXPECT_EQ(is_barred(), "yes");
  fs::permissions(manifest, fs::perms::all);
  fs::permissions(saved->path, fs::perms::none);
  EXPECT_EQ(is_barred(), "yes");
  fs::permissions(saved->path, fs::perms::all);
  EXPECT_EQ(VerifyProgramCheckpoint(saved->path).status().code(), StatusCode::kOk);
}

TEST_F(ProgramCheckpoint, OneThatIsGoneIsNotFound) {
  EXPECT_EQ(VerifyProgramCheckpoint(folder_ / "gone").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tune
