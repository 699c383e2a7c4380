// Checkpoints that come in: as a text, piece by piece, from somebody who is not trusted.
#include "trial_runner/package/artifact_depot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/trial_runner/message_samples.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/watched_syncs.h"
#include "trial_runner/package/folder_text.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Depot : public ::testing::Test {
 protected:
  void SetUp() override {
    MakeDepot();
    saved_ = folder_ / "saved";
    fs::create_directories(saved_ + "/data/deep");
    Write("manifest.json", "{}");
    Write("data/deep/weights", std::string(700'000, 'w'));
    Write("data/empty", "");
    chmod(Write("data/run.sh", "#!/bin/sh\n").c_str(), 0755);
  }
  Result<std::unique_ptr<PackageSource>> Open(const std::string& path) {
    return depot_->Open({Ref(3, 1, 1), path});
  }
  void MakeDepot(int64_t bytes_max = 1 << 20) {
    depot_.reset();
    depot_ = *ArtifactDepot::Make({root(), bytes_max});
  }
  std::string root() const { return folder_ / "tune.artifacts/sweep"; }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(saved_ + "/" + name) << text;
    return saved_ + "/" + name;
  }
  static std::string TextOf(const PackageSource& source) {
    std::string text;
    while (text.size() < static_cast<size_t>(source.name().bytes)) {
      text += *source.Read(static_cast<int64_t>(text.size()), 1000);
    }
    return text;
  }
  static PackageName NameOf(const std::string& text) {
    Sha256 hash;
    hash.Add(text);
    return {hash.Finish(), static_cast<int64_t>(text.size())};
  }
  Result<std::string> Put(const PackageName& name, const std::string& text,
                          const std::string& called = "checkpoint_000001") {
    auto incoming = depot_->Receive({Ref(3, 1, 1), called, name});
    if (!incoming.ok()) return incoming.status();
    const Status taken = (*incoming)->Append(std::string_view(text).substr(
        std::min(text.size(), static_cast<size_t>((*incoming)->offset()))));
    if (!taken.ok()) return taken;
    return (*incoming)->Commit();
  }
  Result<std::string> PutText(const std::string& text) { return Put(NameOf(text), text); }
  std::vector<std::string> Below(const std::string& name) const {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator it(root() + name, error), end; !error && it != end;
         it.increment(error)) {
      found.push_back(it->path().filename().string());
    }
    return found;
  }

  TempFolder folder_;
  std::string saved_;
  std::shared_ptr<ArtifactDepot> depot_;
};

TEST_F(Depot, AFolderComesToTheSameFolder) {
  const Result<FolderText> text = FolderText::Of(saved_);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const Result<std::string> path = Put(text->name(), TextOf(*text));
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*path, root() + "/3/checkpoint_000001");
  EXPECT_EQ(FolderText::Of(*path)->name(), text->name());
  EXPECT_EQ(access((*path + "/data/run.sh").c_str(), X_OK), 0);
  EXPECT_THAT(Below("/.incoming"), testing::IsEmpty());
  // And back.
  const auto source = Open(*path);
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(TextOf(**source), TextOf(*text));
}

TEST_F(Depot, WhatBrokeOffIsGoneOnFrom) {
  const Result<FolderText> source = FolderText::Of(saved_);
  const std::string text = TextOf(*source);
  {
    auto incoming = depot_->Receive({Ref(3, 1, 1), "checkpoint_000001", source->name()});
    ASSERT_TRUE((*incoming)->Append(text.substr(0, 300'000)).ok());
    EXPECT_EQ(depot_->Receive({Ref(3, 1, 1), "checkpoint_000001", source->name()}).status().code(),
              StatusCode::kUnavailable)
        << "two at once";
  }
  auto incoming = depot_->Receive({Ref(3, 1, 1), "checkpoint_000001", source->name()});
  EXPECT_EQ((*incoming)->offset(), 300'000);
  ASSERT_TRUE((*incoming)->Append(text.substr(300'000)).ok());
  EXPECT_TRUE((*incoming)->Commit().ok());
}

TEST_F(Depot, WhatIsThereAlreadyIsNotTakenTwice) {
  const Result<FolderText> source = FolderText::Of(saved_);
  const std::string text = TextOf(*source);
  ASSERT_TRUE(Put(source->name(), text).ok());
  auto again = depot_->Receive({Ref(3, 1, 1), "checkpoint_000001", source->name()});
  EXPECT_EQ((*again)->offset(), source->name().bytes);
  // Its tuner may have been killed before its name was durable, and it is called so now.
  const WatchedSyncs syncs;
  const Result<std::string> committed = (*again)->Commit();
  ASSERT_TRUE(committed.ok()) << committed.status().message();
  EXPECT_EQ(*committed, root() + "/3/checkpoint_000001");
  EXPECT_THAT(syncs.paths(), testing::ElementsAre(testing::EndsWith("/tune.artifacts/sweep/3")));
  // Another one of that name does not replace it.
  Write("manifest.json", "{1}");
  const Result<FolderText> other = FolderText::Of(saved_);
  EXPECT_EQ(*Put(other->name(), TextOf(*other)), root() + "/3/checkpoint_000001-2");
}

TEST_F(Depot, WhatWasChangedOnTheWayIsRefusedAndLeavesNothing) {
  const Result<FolderText> source = FolderText::Of(saved_);
  std::string text = TextOf(*source);
  text[400'000] ^= 1;
  const Result<std::string> path = Put(source->name(), text);
  EXPECT_EQ(path.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(path.status().message(), HasSubstr("another SHA-256"));
  EXPECT_THAT(Below("/3"), testing::IsEmpty());
  EXPECT_THAT(Below("/.incoming"), testing::IsEmpty());
}

TEST_F(Depot, NothingLeadsOutOfTheFolder) {
  const std::string head(kPackageHead);
  for (const std::string path : {"../out", "/etc/out", "a/../../out", ".", ""}) {
    const std::string text =
        head + EncodeEntryHead(PackageKind::kFile, path, 1) + "x" + std::string(kPackageEnd);
    EXPECT_EQ(PutText(text).status().code(), StatusCode::kDataLoss) << path;
  }
  const std::string link =
      head + EncodeEntryHead(PackageKind::kLink, "l", 4) + "/etc" + std::string(kPackageEnd);
  EXPECT_THAT(PutText(link).status().message(), HasSubstr("l is a link, and none is taken"));
  EXPECT_THAT(Below("/3"), testing::IsEmpty());
}

TEST_F(Depot, NamesAreLookedAtFirst) {
  const Result<FolderText> source = FolderText::Of(saved_);
  for (const std::string name : {"", "checkpoint_", "../checkpoint_1", "checkpoint_1/..",
                                 "checkpoint_1.tmp", "attempt_1.log", "/checkpoint_1"}) {
    EXPECT_EQ(depot_->Receive({Ref(3, 1, 1), name, source->name()}).status().code(),
              StatusCode::kInvalidArgument)
        << name;
  }
  for (const std::string& path :
       {std::string("/etc"), root(), root() + "/4", root() + "/../other/checkpoint_1",
        root() + "/3/../../tls", root() + "/3/attempt_1.log", root() + "//3/checkpoint_1"}) {
    EXPECT_EQ(Open(path).status().code(), StatusCode::kInvalidArgument) << path;
  }
  EXPECT_EQ(Open(root() + "/3/checkpoint_000009").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Open(root() + "/3").status().code(), StatusCode::kNotFound);
}

// ---- what programs leave in their trials' folders

class DepotOfFiles : public Depot {
 protected:
  void SetUp() override {
    Depot::SetUp();
    fs::create_directories(trial() + "/checkpoint_000001");
    WriteThere("attempt_1.log", "printed");
    WriteThere("checkpoint_000001/state", "saved");
    WriteThere("manifest.json", "old");
    WriteThere("other.txt", "stays");
  }
  std::string trial() const { return root() + "/3"; }
  void WriteThere(const std::string& name, const std::string& text) const {
    std::ofstream(trial() + "/" + name) << text;
  }
  std::string ReadThere(const std::string& name) const {
    std::ifstream file(trial() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<std::string> PutFiles() {
    const Result<FolderText> text = FolderText::Of(saved_);
    return Put(text->name(), TextOf(*text), "files");
  }
  Result<std::string> PutOne(const std::string& path) {
    std::string text(kPackageHead);
    if (path.find('/') != std::string::npos) {
      text += EncodeEntryHead(PackageKind::kFolder, path.substr(0, path.find('/')), 0);
    }
    text += EncodeEntryHead(PackageKind::kFile, path, 1) + "x" + std::string(kPackageEnd);
    return Put(NameOf(text), text, "files");
  }
};

TEST_F(DepotOfFiles, TheyComeIntoTheFolderInThePlaceOfWhatHasTheirNames) {
  fs::create_directories(trial() + "/data/empty/was a folder");
  const Result<std::string> put = PutFiles();
  ASSERT_TRUE(put.ok()) << put.status().message();
  EXPECT_EQ(*put, trial());
  EXPECT_EQ(ReadThere("manifest.json"), "{}");
  EXPECT_EQ(ReadThere("data/deep/weights").size(), 700'000u);
  EXPECT_EQ(access((trial() + "/data/run.sh").c_str(), X_OK), 0);
  EXPECT_TRUE(fs::is_regular_file(trial() + "/data/empty"));
  EXPECT_EQ(ReadThere("other.txt"), "stays");
  EXPECT_EQ(ReadThere("attempt_1.log"), "printed");
  EXPECT_EQ(ReadThere("checkpoint_000001/state"), "saved");
  EXPECT_TRUE(PutFiles().ok()) << "once more";
  EXPECT_THAT(Below("/3"), testing::UnorderedElementsAre("attempt_1.log", "checkpoint_000001",
                                                         "data", "manifest.json", "other.txt"));
  EXPECT_THAT(Below("/.incoming"), testing::IsEmpty());
}

TEST_F(DepotOfFiles, TheyGoBackWithoutLogsAndCheckpoints) {
  ASSERT_TRUE(PutFiles().ok());
  fs::create_symlink("/etc/passwd", trial() + "/link");
  const auto source = Open(trial());
  ASSERT_TRUE(source.ok()) << source.status().message();
  const std::string text = TextOf(**source);
  const Result<std::vector<PackageEntry>> entries = ParsePackage(text);
  std::vector<std::string> paths;
  for (const PackageEntry& entry : *entries) paths.emplace_back(entry.path);
  EXPECT_THAT(paths, testing::ElementsAre("data", "data/deep", "data/deep/weights", "data/empty",
                                          "data/run.sh", "manifest.json", "other.txt"));
}

TEST_F(DepotOfFiles, LogsAndCheckpointsAreNotWrittenThatWay) {
  for (const std::string path : {"attempt_1.log", "attempt_9_rank_1.log", "checkpoint_000001/state",
                                 "checkpoint_000007", ".files-incoming/x"}) {
    EXPECT_EQ(PutOne(path).status().code(), StatusCode::kDataLoss) << path;
  }
  EXPECT_EQ(ReadThere("attempt_1.log"), "printed");
  EXPECT_EQ(ReadThere("checkpoint_000001/state"), "saved");
  EXPECT_THAT(Below("/3"), testing::UnorderedElementsAre("attempt_1.log", "checkpoint_000001",
                                                         "manifest.json", "other.txt"));
}

TEST_F(DepotOfFiles, NothingIsWrittenThroughALinkThatAProgramMade) {
  const std::string outside = folder_ / "outside";
  fs::create_directories(outside);
  std::ofstream(outside + "/file") << "not ours";
  fs::create_symlink(outside, trial() + "/data");
  fs::remove(trial() + "/manifest.json");
  fs::create_symlink(outside + "/file", trial() + "/manifest.json");
  EXPECT_THAT(PutFiles().status().message(), HasSubstr("data would lie below a link"));
  EXPECT_TRUE(fs::is_symlink(trial() + "/manifest.json")) << "nothing of it was moved";
  fs::remove(trial() + "/data");
  EXPECT_TRUE(PutFiles().ok());
  EXPECT_EQ(ReadThere("manifest.json"), "{}");
  std::ifstream file(outside + "/file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "not ours");
}

TEST_F(DepotOfFiles, WhatAKilledTunerDidNotMoveGoesWithTheNextOnes) {
  fs::create_directories(trial() + "/.files-incoming/half");
  ASSERT_TRUE(PutOne("a").ok());
  EXPECT_THAT(Below("/3"), testing::UnorderedElementsAre("a", "attempt_1.log", "checkpoint_000001",
                                                         "manifest.json", "other.txt"));
}

TEST_F(Depot, TheSizeIsBoundedByTheLimitAndByTheDisk) {
  const PackageName large = {std::string(64, 'a'), (1 << 20) + 1};
  EXPECT_THAT(depot_->Receive({Ref(3, 1, 1), "checkpoint_1", large}).status().message(),
              HasSubstr("larger than the tuner takes, 1048576"));
  MakeDepot(int64_t{1} << 60);
  const PackageName huge = {std::string(64, 'a'), int64_t{1} << 59};
  EXPECT_EQ(depot_->Receive({Ref(3, 1, 1), "checkpoint_1", huge}).status().code(),
            StatusCode::kResourceExhausted);
  // No more comes than was named.
  const Result<FolderText> source = FolderText::Of(saved_);
  auto incoming = depot_->Receive({Ref(3, 1, 1), "checkpoint_1", {std::string(64, 'a'), 10}});
  EXPECT_EQ((*incoming)->Append("eleven byte").code(), StatusCode::kDataLoss);
}

TEST_F(Depot, SeesWhatIsWrittenIntoItsFolderAndNothingElse) {
  const std::string nonce(kNonceBytes, 'a');
  EXPECT_FALSE(depot_->Sees({nonce}));
  std::ofstream(root() + "/" + NonceFile(nonce)) << "something else";
  EXPECT_FALSE(depot_->Sees({nonce}));
  std::ofstream(root() + "/" + NonceFile(nonce)) << nonce;
  EXPECT_TRUE(depot_->Sees({nonce}));
  EXPECT_FALSE(depot_->Sees({nonce, {}, /*is_of_programs=*/true})) << "it has none here";
  depot_ = *ArtifactDepot::Make({root() + "/other", 1, root()});
  EXPECT_TRUE(depot_->Sees({nonce, {}, /*is_of_programs=*/true}));
  EXPECT_FALSE(depot_->Sees({nonce}));
}

// A checkpoint that comes after it finds the folder there, and is called durable.
TEST_F(Depot, TheFolderThatALogMakesIsDurable) {
  const WatchedSyncs syncs;
  const Result<int64_t> taken = depot_->TakeLog({Ref(3, 2, 1), 0, 0, "one\n"});
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_THAT(syncs.paths(), testing::ElementsAre(testing::EndsWith("/tune.artifacts/sweep")));
}

// The worker has come back, and sends again what a slow disk has not taken yet. Here the disk waits
// for somebody who reads.
TEST_F(Depot, ALogThatComesTwiceAtOnceIsTakenOnce) {
  const std::string log = root() + "/3/attempt_2.log";
  fs::create_directories(root() + "/3");
  ASSERT_EQ(mkfifo(log.c_str(), 0644), 0);
  const auto take = [this] {
    return std::async(std::launch::async, [this] {
      return depot_->TakeLog({Ref(3, 2, 1), 0, 0, "one\n"});
    });
  };
  std::future<Result<int64_t>> first = take(), second = take();
  const auto is_ready = [](const std::future<Result<int64_t>>& taken) {
    return taken.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!is_ready(first) && !is_ready(second) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  const bool is_first_refused = is_ready(first);
  EXPECT_NE(is_first_refused, is_ready(second));
  std::ifstream reader(log);
  const Result<int64_t> refused = is_first_refused ? first.get() : second.get();
  const Result<int64_t> taken = is_first_refused ? second.get() : first.get();
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(*taken, 4);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), "one\n");
}

TEST_F(Depot, ALogComesInBitByBitAndIsGoneOnFromWhereItIs) {
  const auto take = [this](int64_t offset, const std::string& text, int64_t rank = 0) {
    return *depot_->TakeLog({Ref(3, 2, 1), rank, offset, text});
  };
  const auto read = [this](const std::string& name) {
    std::ifstream in(root() + "/3/" + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(take(0, "one\n"), 4);
  EXPECT_EQ(take(4, "two\n"), 8);
  EXPECT_EQ(take(4, "two\n"), 8) << "it came twice";
  EXPECT_EQ(take(2, "e\ntwo\nthree\n"), 14) << "some of it is new";
  EXPECT_EQ(take(20, "four\n"), 14) << "what is between is missing";
  EXPECT_EQ(take(0, "of rank 1\n", 1), 10);
  EXPECT_EQ(read("attempt_2.log"), "one\ntwo\nthree\n");
  EXPECT_EQ(read("attempt_2_rank_1.log"), "of rank 1\n");
}

TEST_F(Depot, ALinkInACheckpointIsNotSent) {
  fs::create_symlink("/etc/passwd", saved_ + "/data/link");
  EXPECT_THAT(FolderText::Of(saved_).status().message(), HasSubstr("is neither file nor folder"));
}

}  // namespace
}  // namespace tune
