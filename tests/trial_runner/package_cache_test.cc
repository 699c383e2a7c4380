// Packed folders sent, unpacked and kept: real folders, and a sender that does what one should not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/limits.h"
#include "tests/small_disk.h"
#include "tests/trial_runner/package_world.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/package/cache_trim.h"
#include "trial_runner/package/own_copy.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/package_store.h"
#include "trial_runner/package/packed_folder.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Hands out a text piece by piece, and does on each connection what it is told there.
struct Sender {
  std::string text;
  size_t piece_bytes = 7;
  // By the number of the connection, from 0: after so many pieces it breaks.
  std::map<int, int> breaks = {};
  std::vector<int64_t> offsets = {};  // Of each connection.
  bool is_gone = false;

  PackageDial Dial() {
    return [this](const PackageName&, int64_t offset) {
      offsets.push_back(offset);
      const int connection = static_cast<int>(offsets.size()) - 1;
      const auto found = breaks.find(connection);
      return std::make_unique<Stream>(*this, static_cast<size_t>(offset),
                                      found == breaks.end() ? -1 : found->second);
    };
  }

  class Stream final : public PackageStream {
   public:
    Stream(const Sender& sender, size_t offset, int breaks_after)
        : sender_(sender), offset_(offset), left_(breaks_after) {}
    Result<std::optional<std::string>> Next() override {
      if (sender_.is_gone) return NotFound("the tuner has no such package");
      if (left_-- == 0) return Unavailable("the connection broke");
      if (offset_ == sender_.text.size()) return std::optional<std::string>();
      const std::string piece = sender_.text.substr(offset_, sender_.piece_bytes);
      offset_ += piece.size();
      return std::optional(piece);
    }

   private:
    const Sender& sender_;
    size_t offset_;
    int left_;
  };
};

TEST_F(PackageFolder, ComesOutAsItWentIn) {
  Sender sender{Text()};
  const PackageStore store(folder_ / "cache", interruption_);
  const Result<HeldPackage> there = store.Obtain(Name(), sender.Dial());
  ASSERT_TRUE(there.ok()) << there.status().message();
  EXPECT_EQ(*NameFolder(there->folder, kAnyBytes), Name());
  EXPECT_EQ(ReadText(there->folder + "/train.py"), "print(1)\n");
  EXPECT_EQ(fs::read_symlink(there->folder + "/sub/link"), "../train.py");
  EXPECT_EQ(access((there->folder + "/sub/run.sh").c_str(), X_OK), 0);
  EXPECT_TRUE(fs::is_directory(there->folder + "/sub/empty"));
  EXPECT_EQ(fs::status(folder_ / "cache/packages").permissions(), fs::perms::owner_all);
  EXPECT_THAT(Cached(), ElementsAre(Name().sha256));
  // Another time nothing is sent.
  EXPECT_EQ(store.Obtain(Name(), sender.Dial())->folder, there->folder);
  EXPECT_EQ(sender.offsets.size(), 1u);
}

TEST_F(PackageFolder, KeepsToItselfWhatOtherUsersCouldNotReadWhateverTheUmask) {
  Write("sub/password", "x");
  fs::create_directory(From("hidden"));
  Write("hidden/run", "x");
  chmod(From("sub/password").c_str(), 0600);
  chmod(From("hidden").c_str(), 0700);
  chmod(From("hidden/run").c_str(), 0700);
  for (const mode_t mask : {0, 022, 077}) {
    const std::string cache = folder_ / ("cache" + std::to_string(mask));
    Sender sender{Text()};
    const PackageName name = Name();
    const mode_t before = umask(mask);
    const auto there = PackageStore(cache, interruption_).Obtain(name, sender.Dial());
    umask(before);
    ASSERT_TRUE(there.ok()) << there.status().message();
    const auto mode_of = [&](const std::string& path) {
      struct stat info = {};
      EXPECT_EQ(stat((there->folder + path).c_str(), &info), 0) << path;
      return info.st_mode & 0777;
    };
    EXPECT_EQ(mode_of("/sub/password"), 0600u);
    EXPECT_EQ(mode_of("/hidden"), 0700u);
    EXPECT_EQ(mode_of("/hidden/run"), 0700u);
    EXPECT_EQ(mode_of("/train.py"), 0644u);
    EXPECT_EQ(*NameFolder(there->folder, kAnyBytes), name);
  }
}

// As by a worker that was stopped by a signal in the middle.
TEST_F(PackageFolder, WhoseFetchingDoesNotGoOnIsFetchedByAnotherWorkerToo) {
  Sender sender{Text()};
  const PackageName name = Name();
  fs::create_directories(folder_ / "cache/packages");
  fs::permissions(folder_ / "cache/packages", fs::perms::owner_all);
  const std::string part = folder_ / ("cache/packages/" + name.sha256 + ".part");
  WriteText(part, "half");
  const FileDescriptor frozen(open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(frozen.get(), LOCK_EX), 0);
  const PackageStore store(folder_ / "cache", interruption_, Milliseconds(200));
  const Result<HeldPackage> there = store.Obtain(name, sender.Dial());
  ASSERT_TRUE(there.ok()) << there.status().message();
  EXPECT_EQ(*NameFolder(there->folder, kAnyBytes), name);
  EXPECT_EQ(ReadText(part), "half") << "that is the other's";
}

TEST_F(PackageFolder, InWhichSomethingThatCameWasChangedIsFetchedAgain) {
  Sender sender{Text()};
  const PackageStore store(folder_ / "cache", interruption_);
  const std::string there = store.Obtain(Name(), sender.Dial())->folder;
  WriteText(there + "/result.txt", "what a program left");
  EXPECT_EQ(store.Obtain(Name(), sender.Dial())->folder, there);
  EXPECT_EQ(sender.offsets.size(), 1u);

  WriteText(there + "/train.py", "print(2)\n");
  EXPECT_EQ(store.Obtain(Name(), sender.Dial())->folder, there);
  EXPECT_EQ(sender.offsets.size(), 2u);
  EXPECT_EQ(ReadText(there + "/train.py"), "print(1)\n");
  EXPECT_FALSE(fs::exists(there + "/result.txt"));
  {
    // Where another worker runs in it, it stays as it is.
    const Result<HeldPackage> held = store.Obtain(Name(), sender.Dial());
    fs::remove(there + "/sub/link");
    const Result<HeldPackage> other = store.Obtain(Name(), sender.Dial());
    ASSERT_TRUE(other.ok()) << other.status().message();
    EXPECT_EQ(other->folder, there + "-2");
    EXPECT_TRUE(fs::is_symlink(other->folder + "/sub/link"));
    EXPECT_FALSE(fs::is_symlink(held->folder + "/sub/link"));
  }
  // Of an older build, or another hand: nothing says what came.
  fs::remove(there + ".list");
  const size_t fetched = sender.offsets.size();
  EXPECT_TRUE(store.Obtain(Name(), sender.Dial()).ok());
  EXPECT_EQ(sender.offsets.size(), fetched + 1);
}

TEST_F(PackageFolder, IsNotKeptWhereOthersMayWrite) {
  fs::create_directories(folder_ / "cache/packages");
  chmod((folder_ / "cache/packages").c_str(), 0775);
  Sender sender{Text()};
  const PackageStore store(folder_ / "cache", interruption_);
  EXPECT_THAT(store.Obtain(Name(), sender.Dial()).status().message(),
              HasSubstr("cache/packages can be written by other users"));
  chmod((folder_ / "cache/packages").c_str(), 0755);
  ASSERT_TRUE(store.Obtain(Name(), sender.Dial()).ok());
  EXPECT_EQ(fs::status(folder_ / "cache/packages").permissions(), fs::perms::owner_all);
}

TEST_F(PackageFolder, GoesOnWhereTheConnectionBroke) {
  Sender sender{Text()};
  sender.breaks = {{0, 3}, {1, 0}, {2, 2}};
  const auto there = PackageStore(folder_ / "cache", interruption_).Obtain(Name(), sender.Dial());
  ASSERT_TRUE(there.ok()) << there.status().message();
  EXPECT_EQ(*NameFolder(there->folder, kAnyBytes), Name());
  EXPECT_THAT(sender.offsets, ElementsAre(0, 21, 21, 35));
}

TEST_F(PackageFolder, AnotherWorkerGoesOnWithWhatOneThatEndedHadFetched) {
  Sender sender{Text()};
  sender.breaks = {{0, 3}};
  {
    // Raised once three pieces are there.
    Interruption raised;
    const PackageDial dial = [&](const PackageName& name, int64_t offset) {
      if (offset > 0) raised.Raise();
      return sender.Dial()(name, offset);
    };
    const auto there = PackageStore(folder_ / "cache", raised).Obtain(Name(), dial);
    EXPECT_EQ(there.status().code(), StatusCode::kUnavailable);
  }
  sender.offsets.clear();
  sender.breaks.clear();
  ASSERT_TRUE(PackageStore(folder_ / "cache", interruption_).Obtain(Name(), sender.Dial()).ok());
  EXPECT_THAT(sender.offsets, ElementsAre(21));
}

TEST_F(PackageFolder, WhatCameWrongIsFetchedAgainAndGivenUpInTheEnd) {
  const std::string good = Text();
  Sender sender{good};
  sender.text[good.size() / 2] ^= 1;
  const PackageStore store(folder_ / "cache", interruption_);
  const Result<HeldPackage> wrong = store.Obtain(Name(), sender.Dial());
  EXPECT_EQ(wrong.status().message(), "what came has another SHA-256");
  EXPECT_EQ(sender.offsets, std::vector<int64_t>(limits::kPackageTriesMax, 0));
  EXPECT_THAT(Cached(), IsEmpty());
  sender.text = good.substr(0, 20);
  EXPECT_EQ(store.Obtain(Name(), sender.Dial()).status().message(), "it ended after 20 bytes");
  sender.text = good + "e";
  sender.piece_bytes = good.size() + 1;
  EXPECT_EQ(store.Obtain(Name(), sender.Dial()).status().message(), "more came than was named");
  sender.text = good;
  EXPECT_TRUE(store.Obtain(Name(), sender.Dial()).ok());
}

TEST_F(PackageFolder, OneThatTheTunerDoesNotHaveIsGivenUpInTheEnd) {
  Sender sender{Text()};
  sender.is_gone = true;
  const PackageStore store(folder_ / "cache", interruption_, Milliseconds(limits::kReconnectMs));
  const Result<HeldPackage> gone = store.Obtain(Name(), sender.Dial());
  EXPECT_EQ(gone.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(gone.status().message(), "the tuner has no package of it");
  EXPECT_EQ(sender.offsets.size(), 2u) << "it may have come back with another one";
  sender.is_gone = false;
  EXPECT_TRUE(store.Obtain(Name(), sender.Dial()).ok());
}

// One who may send anything and name it rightly.
TEST_F(PackageFolder, AHostilePackageLeavesNothingBehind) {
  const auto obtain = [&](const std::string& entries) {
    Sender sender{std::string(kPackageHead) + entries + std::string(kPackageEnd)};
    Sha256 hash;
    hash.Add(sender.text);
    const PackageName name{hash.Finish(), static_cast<int64_t>(sender.text.size())};
    return PackageStore(folder_ / "cache", interruption_).Obtain(name, sender.Dial()).status();
  };
  const auto entry = [](PackageKind kind, const std::string& path, const std::string& content) {
    return EncodeEntryHead(kind, path, content.size()) + content;
  };
  const std::string outside = folder_ / "outside";
  EXPECT_EQ(obtain(entry(PackageKind::kFile, "../../outside", "x")).code(), StatusCode::kDataLoss);
  EXPECT_EQ(obtain(entry(PackageKind::kFile, outside, "x")).code(), StatusCode::kDataLoss);
  EXPECT_EQ(obtain(entry(PackageKind::kLink, "a", folder_.path()) +
                   entry(PackageKind::kFile, "a/outside", "x"))
                .code(),
            StatusCode::kDataLoss);
  EXPECT_FALSE(fs::exists(outside));
  EXPECT_THAT(Cached(), IsEmpty());
}

TEST_F(PackageFolder, TwoThatWantItAtOnceFetchItOnce) {
  Sender sender{Text()};
  const PackageStore store(folder_ / "cache", interruption_);
  const PackageName name = Name();
  // The second begins while the first is fetching, and is waited for.
  Result<HeldPackage> second = Internal("");
  std::thread other;
  const PackageDial dial = [&](const PackageName& wanted, int64_t offset) {
    other = std::thread([&] { second = store.Obtain(name, sender.Dial()); });
    return sender.Dial()(wanted, offset);
  };
  const Result<HeldPackage> first = store.Obtain(name, dial);
  other.join();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->folder, second->folder);
  EXPECT_EQ(sender.offsets.size(), 1u);
}

TEST_F(PackageFolder, OfThoseThatNobodyHoldsTheLatestUsedStay) {
  const PackageStore store(folder_ / "cache", interruption_);
  std::vector<std::string> paths;
  const auto obtain = [&](size_t number) {
    Write("train.py", std::to_string(number));
    Sender sender{Text(), kAnyBytes};
    Result<HeldPackage> there = store.Obtain(Name(), sender.Dial());
    TUNE_CHECK(there.ok());
    if (paths.size() == number) paths.push_back(there->folder);
    return *std::move(there);
  };
  std::optional<HeldPackage> first = obtain(0);
  for (size_t i = 1; i < limits::kPackagesKeptMax; ++i) obtain(i);
  // 2 was used before all others, then 0 and 1; but 1 is used again.
  const auto now = fs::last_write_time(paths[3]);
  fs::last_write_time(paths[2], now - std::chrono::hours(3));
  fs::last_write_time(paths[1], now - std::chrono::hours(2));
  fs::last_write_time(paths[0], now - std::chrono::hours(1));
  obtain(1);

  obtain(limits::kPackagesKeptMax);
  EXPECT_FALSE(fs::exists(paths[2]));
  EXPECT_EQ(Cached().size(), limits::kPackagesKeptMax);
  obtain(limits::kPackagesKeptMax + 1);
  EXPECT_TRUE(fs::exists(paths[0])) << "it is held";
  first.reset();
  obtain(limits::kPackagesKeptMax + 2);
  EXPECT_FALSE(fs::exists(paths[0]));
  EXPECT_TRUE(fs::exists(paths[1]));
  EXPECT_EQ(Cached().size(), limits::kPackagesKeptMax);
}

TEST_F(PackageFolder, ACacheKeepsToItsBudgetAndToWhatIsInUse) {
  Sender sender{Text()};
  const PackageStore store(folder_ / "cache", interruption_);
  const std::string old = store.Obtain(Name(), sender.Dial())->folder;
  Write("train.py", "print(2)\n");
  sender.text = Text();
  const HeldPackage held = *store.Obtain(Name(), sender.Dial());
  const std::string cache = folder_ / "cache";
  const std::string half = cache + "/packages/" + std::string(64, 'a') + ".part";
  WriteText(half, "half");
  const auto now = [](Duration later) {
    return Instant{std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count()} +
           later;
  };
  EXPECT_THAT(TrimCache(cache, int64_t{1} << 40, now({})), IsEmpty());
  const Instant in_two_days = now(Seconds(2 * 24 * 3600));
  EXPECT_EQ(TrimCache(cache, 0, in_two_days, /*dry_run=*/true).size(), 2u);
  const auto trimmed = TrimCache(cache, 0, in_two_days);
  ASSERT_EQ(trimmed.size(), 2u);
  EXPECT_EQ(trimmed[0].path, half);
  EXPECT_EQ(trimmed[1].path, old);
  EXPECT_GT(trimmed[1].bytes, 0);
  EXPECT_THAT(Cached(), ElementsAre(fs::path(held.folder).filename().string()));
  // The list of what was there goes the next time.
  EXPECT_EQ(TrimCache(cache, 0, in_two_days).size(), 1u);
  EXPECT_THAT(TrimCache(folder_ / "none", 0, in_two_days), IsEmpty());
}

// A worker that ends does not wait until a cache of a million files is looked through.
TEST_F(PackageFolder, NothingOfACacheGoesOnceItsTrimIsToldToStop) {
  const std::string cache = folder_ / "cache";
  const std::string name(64, 'a');
  fs::create_directories(cache + "/packages/" + name);
  fs::create_directories(cache + "/setup/0123456789abcdef.tmp");
  fs::create_directories(cache + "/data/" + name + ".part");
  WriteText(cache + "/packages/" + name + "/train.py", "print(1)");
  WriteText(cache + "/packages/" + name + ".part", "half");
  std::stop_source stopped;
  stopped.request_stop();
  const Instant in_years{int64_t{1} << 60};
  EXPECT_THAT(TrimCache(cache, 0, in_years, /*dry_run=*/false, stopped.get_token()), IsEmpty());
  EXPECT_TRUE(fs::exists(cache + "/packages/" + name + "/train.py"));
  EXPECT_EQ(TrimCache(cache, 0, in_years).size(), 4u);
}

TEST_F(PackageFolder, AFolderOfACacheWhoseRemovalBrokeOffGoesWithTheNextTrim) {
  const std::string left = folder_ / "cache/setup/0123456789abcdef.tmp";
  fs::create_directories(left + "/go");
  WriteText(left + "/go/a", "text");
  struct stat info = {};
  ASSERT_EQ(stat(left.c_str(), &info), 0);
  const Instant made{int64_t{info.st_mtim.tv_sec} * 1'000'000};
  const std::string cache = folder_ / "cache";
  EXPECT_THAT(TrimCache(cache, int64_t{1} << 40, made + Seconds(3600)), IsEmpty());
  const Instant in_two_days = made + Seconds(2 * 24 * 3600);
  EXPECT_EQ(TrimCache(cache, int64_t{1} << 40, in_two_days, /*dry_run=*/true).size(), 1u);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(TrimCache(cache, int64_t{1} << 40, in_two_days).size(), 1u);
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(PackageFolder, IsCopiedForEachSweepThatComesFromElsewhere) {
  Sender sender{Text()};
  const PackageName name = Name();
  const std::string cache = folder_ / "cache";
  const PackageStore store(cache, interruption_);
  const HeldPackage pristine = *store.Obtain(name, sender.Dial());
  const auto obtain = [&](const std::string& whose) {
    Result<HeldPackage> copy = ObtainOwnCopy(cache, name, pristine, whose);
    EXPECT_TRUE(copy.ok()) << copy.status().message();
    return *std::move(copy);
  };
  {
    const HeldPackage mine = obtain("mine");
    EXPECT_EQ(*NameFolder(mine.folder, kAnyBytes), name);
    EXPECT_EQ(fs::status(cache + "/copies").permissions(), fs::perms::owner_all);
    WriteText(mine.folder + "/ckpt", "epoch 3");
    // Its other worker's, and theirs.
    EXPECT_EQ(obtain("mine").folder, mine.folder);
    EXPECT_EQ(ReadText(obtain("mine").folder + "/ckpt"), "epoch 3");
    EXPECT_FALSE(fs::exists(obtain("theirs").folder + "/ckpt"));
    // What was changed of what came is not run in again, while others run in it either.
    WriteText(mine.folder + "/train.py", "print(2)\n");
    const HeldPackage beside = obtain("mine");
    EXPECT_NE(beside.folder, mine.folder);
    EXPECT_EQ(*NameFolder(beside.folder, kAnyBytes), name);
  }
  EXPECT_EQ(*NameFolder(obtain("mine").folder, kAnyBytes), name);
  EXPECT_EQ(*NameFolder(pristine.folder, kAnyBytes), name);
  // They are counted, and the least used go.
  for (size_t i = 0; i < 2 * limits::kPackagesKeptMax; ++i) obtain(std::to_string(i));
  const auto count = [&] {
    return std::distance(fs::directory_iterator(cache + "/copies"), fs::directory_iterator());
  };
  EXPECT_EQ(count(), static_cast<std::ptrdiff_t>(limits::kPackagesKeptMax));
  EXPECT_FALSE(TrimCache(cache, 0, Instant{int64_t{1} << 60}).empty());
  EXPECT_EQ(count(), 0);
}

TEST_F(PackageFolder, WhatAPersonKeepsWhereTheCacheIsStays) {
  const std::string cache = folder_ / "monorepo";
  std::vector<std::string> own;
  for (size_t i = 0; i < 2 * limits::kPackagesKeptMax; ++i) {
    const std::string number = std::to_string(i);
    for (const char* const part : {"packages/lib", "setup/step", "artifacts/run"}) {
      own.push_back(cache + "/" + part + number);
      fs::create_directories(own.back() + "/src");
      WriteText(own.back() + "/index.js", number);
    }
  }
  WriteText(cache + "/packages/notes.part", "of a person");
  Sender sender{Text()};
  const PackageStore store(cache, interruption_);
  EXPECT_TRUE(store.Obtain(Name(), sender.Dial()).ok());
  const auto trimmed = TrimCache(cache, 0, Instant{int64_t{1} << 60});
  ASSERT_EQ(trimmed.size(), 1u);
  EXPECT_THAT(trimmed[0].path, HasSubstr(Name().sha256));
  for (const std::string& path : own) EXPECT_TRUE(fs::exists(path + "/index.js")) << path;
  EXPECT_TRUE(fs::exists(cache + "/packages/notes.part"));
}

TEST_F(PackageFolder, OneThatWaitsCanBeInterrupted) {
  Sender sender{Text()};
  sender.breaks = {{0, 0}};
  const PackageDial dial = [&](const PackageName& wanted, int64_t offset) {
    interruption_.Raise();
    return sender.Dial()(wanted, offset);
  };
  EXPECT_EQ(PackageStore(folder_ / "cache", interruption_).Obtain(Name(), dial).status().message(),
            "the worker is ending");
}

TEST_F(PackageFolder, AFullDiskIsToldAndLeftNoFuller) {
  const SmallDisk small(folder_ / "cache", 256'000);
  if (!small.is_mounted()) GTEST_SKIP() << small.why_not();
  const PackageStore store(folder_ / "cache", interruption_);
  // No room for the text; then none for what it unpacks to.
  for (const size_t bytes : {400'000, 150'000}) {
    Write("large", std::string(bytes, 'x'));
    Sender sender{Text(), 100'000};
    const Result<HeldPackage> full = store.Obtain(Name(), sender.Dial());
    EXPECT_EQ(full.status().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(full.status().message(), HasSubstr("No space left on device"));
    EXPECT_THAT(Cached(), IsEmpty());
  }
}

}  // namespace
}  // namespace tune
