// A folder as one text, and what is no such text.
#include "trial_runner/package/package_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/random.h"
#include "trial_runner/package/ignore_list.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Entry {
  PackageKind kind;
  std::string path;
  std::string content = {};
};
constexpr PackageKind kFolder = PackageKind::kFolder;
constexpr PackageKind kFile = PackageKind::kFile;
constexpr PackageKind kLink = PackageKind::kLink;

std::string TextOf(const std::vector<Entry>& entries) {
  std::string text(kPackageHead);
  for (const Entry& entry : entries) {
    text += EncodeEntryHead(entry.kind, entry.path, entry.content.size()) + entry.content;
  }
  return text + std::string(kPackageEnd);
}

// Shown one text each; or the error.
std::vector<std::string> Read(const std::string& text) {
  const auto entries = ParsePackage(text);
  if (!entries.ok()) return {entries.status().message()};
  std::vector<std::string> shown;
  for (const PackageEntry& entry : *entries) {
    shown.push_back(static_cast<char>(entry.kind) + std::string(" ") + std::string(entry.path) +
                    " '" + std::string(entry.content) + "'");
  }
  return shown;
}

const std::vector<Entry> kSample = {{kFile, "a", "one"},
                                    {kFolder, "b"},
                                    {kFile, "b/x", ""},
                                    {kFolder, "b/y"},
                                    {PackageKind::kProgram, "b/y/run.sh", "#!/bin/sh\n"},
                                    {kLink, "b/z", "../../elsewhere"},
                                    {kFile, "b.txt", "two"}};

TEST(Package, BringsBackEachEntry) {
  EXPECT_THAT(Read(TextOf(kSample)), ElementsAre("f a 'one'", "d b ''", "f b/x ''", "d b/y ''",
                                                 "x b/y/run.sh '#!/bin/sh\n'",
                                                 "l b/z '../../elsewhere'", "f b.txt 'two'"));
  EXPECT_THAT(Read(TextOf({})), ElementsAre());
}

TEST(Package, RefusesWhatWouldLieElsewhere) {
  const std::vector<Entry> cases[] = {
      {{kFile, "/etc/passwd", "x"}},
      {{kFile, "../x", "x"}},
      {{kFolder, "a"}, {kFile, "a/../../x", "x"}},
      {{kFolder, ".."}},
      {{kFolder, "."}},
      {{kFolder, "a"}, {kFile, "a/", "x"}},
      {{kFolder, "a"}, {kFile, "a//x", "x"}},
      {{kFile, "", "x"}},
      {{kFile, std::string("a\0b", 3), "x"}},
      {{kFile, std::string(256, 'a'), "x"}},
      // Below a link, a file, or nothing.
      {{kLink, "a", "/etc"}, {kFile, "a/passwd", "x"}},
      {{kFile, "a", ""}, {kFile, "a/x", "x"}},
      {{kFile, "a/x", "x"}},
      {{kFolder, "a"}, {kFolder, "b"}, {kFile, "a/x", "x"}},
  };
  for (const std::vector<Entry>& entries : cases) {
    const auto read = ParsePackage(TextOf(entries));
    ASSERT_FALSE(read.ok()) << entries.back().path;
    EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(read.status().message(),
                HasSubstr("entry " + std::to_string(entries.size()) + ": "));
  }
}

TEST(Package, RefusesNamesThatComeTwiceOrInAnotherOrder) {
  EXPECT_THAT(Read(TextOf({{kFile, "a"}, {kFile, "a"}})),
              ElementsAre("entry 2: it is not in order"));
  EXPECT_THAT(Read(TextOf({{kLink, "a", "b"}, {kFile, "a", "through the link"}})),
              ElementsAre("entry 2: it is not in order"));
  EXPECT_THAT(Read(TextOf({{kFile, "b"}, {kFile, "a"}})),
              ElementsAre("entry 2: it is not in order"));
  EXPECT_THAT(Read(TextOf({{kFolder, "a"}, {kFile, "a/x"}, {kFile, "b"}, {kFile, "a/y"}})),
              ElementsAre("entry 4: it is not in order"));
}

TEST(Package, RefusesWhatIsNoText) {
  EXPECT_THAT(Read(""), ElementsAre("it is no package"));
  EXPECT_THAT(Read("tune-package 2\ne"), ElementsAre("it is no package"));
  EXPECT_THAT(Read(TextOf({}) + "e"), ElementsAre("something follows its end"));
  EXPECT_THAT(Read(std::string(kPackageHead) + "q"),
              ElementsAre("entry 1: it is of no known kind"));
  EXPECT_THAT(Read(TextOf({{kFolder, "a", "x"}})), ElementsAre("entry 1: a folder has no content"));
  EXPECT_THAT(Read(TextOf({{kLink, "a", ""}})), ElementsAre("entry 1: it links to nowhere"));
  // A length that is more than there is, up to the largest.
  std::string text = TextOf({{kFile, "a", "x"}});
  for (size_t i = 0; i < 8; ++i) text[kPackageHead.size() + 5 + i] = '\xff';
  EXPECT_THAT(Read(text), ElementsAre("entry 1: it is cut off"));
}

TEST(Package, TakesFoldersUpToTheLimitOfDepthAndNoDeeper) {
  std::vector<Entry> entries = {{kFolder, "a"}};
  while (static_cast<int>(entries.size()) < limits::kPackageDepthMax) {
    entries.push_back({kFolder, entries.back().path + "/a"});
  }
  EXPECT_TRUE(ParsePackage(TextOf(entries)).ok());
  entries.push_back({kFolder, entries.back().path + "/a"});
  EXPECT_FALSE(ParsePackage(TextOf(entries)).ok());
}

TEST(Package, RefusesWhatIsCutAnywhere) {
  const std::string text = TextOf(kSample);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParsePackage(std::string_view(text).substr(0, size)).ok()) << size;
  }
}

// What is accepted of damaged texts is the one text of its entries.
TEST(Package, DamagedTextsAreReadSafely) {
  KeyedRandom random(7, "package");
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = TextOf(kSample);
    for (uint64_t i = random.NextBelow(3) + 1; i > 0; --i) {
      text[random.NextBelow(text.size())] = static_cast<char>(random.NextBelow(256));
    }
    const auto entries = ParsePackage(text);
    if (!entries.ok()) continue;
    ++accepted;
    std::vector<Entry> again;
    for (const PackageEntry& e : *entries) {
      again.push_back({e.kind, std::string(e.path), std::string(e.content)});
    }
    ASSERT_EQ(TextOf(again), text);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10'000);
}

// ---- what is left out

IgnoreList ListOf(const std::string& text) {
  const Result<IgnoreList> list = IgnoreList::Parse(text);
  EXPECT_TRUE(list.ok()) << list.status().message();
  return list.ok() ? *list : IgnoreList();
}

TEST(IgnoreList, HoldsNamesAnywhereAndPathsFromTheTop) {
  const IgnoreList list =
      ListOf("# data sets\n\n data \n*.ckpt\nout/\nruns/2025-*\n/top\n\\#literal");
  for (const char* const path :
       {"data", "a/data", "x.ckpt", "a/b/x.ckpt", "runs/2025-01", "top", "#literal"}) {
    EXPECT_TRUE(list.Holds(path, false)) << path;
  }
  for (const char* const path :
       {"data2", "x.ckpt.py", "a/runs/2025-01", "runs/2026", "a/top", "runs/2025-01/x", "out"}) {
    EXPECT_FALSE(list.Holds(path, false)) << path;
  }
  EXPECT_TRUE(list.Holds("a/out", true));
}

TEST(IgnoreList, HoldsNothingWhenItIsEmpty) {
  EXPECT_FALSE(ListOf("").Holds("a", false));
  EXPECT_FALSE(ListOf("\r\n \n# a").Holds("a", false));
}

TEST(IgnoreList, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(IgnoreList::Parse("a\n!b\n").status().message(),
            "line 2: read '!b'; what is left out cannot be taken in again");
  EXPECT_EQ(IgnoreList::Parse("/").status().message(),
            "line 1: read '/', expected a name or a path");
}

}  // namespace
}  // namespace tune
