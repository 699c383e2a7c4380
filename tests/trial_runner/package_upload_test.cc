#include "trial_runner/package/package_upload.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/limits.h"
#include "tests/small_disk.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/watched_syncs.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

class PackageUploadTest : public ::testing::Test {
 protected:
  static PackageName Named(const std::string& text) {
    Sha256 hash;
    hash.Add(text);
    return {hash.Finish(), static_cast<int64_t>(text.size())};
  }
  std::string Kept(const PackageName& name) const {
    const auto package = OpenKeptPackage(folder_ / "packages", name);
    return package.ok() ? *(*package)->Read(0, 1000) : package.status().message();
  }

  TempFolder folder_;
  PackageUpload upload_{folder_ / "packages", "ada"};
};

TEST_F(PackageUploadTest, ComesInBitByBitAndIsKeptOnceItIsWhole) {
  const PackageName name = Named("abcdef");
  EXPECT_EQ(upload_.Have(name), 0);
  EXPECT_EQ(*upload_.Append(name, 0, "abc"), 3);
  EXPECT_EQ(upload_.Have(name), 3);
  EXPECT_FALSE(OpenKeptPackage(folder_ / "packages", name).ok());
  // Another process goes on.
  PackageUpload next(folder_ / "packages", "ada");
  EXPECT_EQ(*next.Append(name, 3, "def"), 6);
  EXPECT_EQ(Kept(name), "abcdef");
  EXPECT_EQ(upload_.Have(name), 6);
  EXPECT_EQ(*upload_.Append(name, 0, "abc"), 6) << "it is there";
}

// A process that kept it before may have been killed before its name was durable.
TEST_F(PackageUploadTest, APackageThatIsThereAlreadyIsDurableOnceItIsKeptAgain) {
  const PackageName name = Named("abcdef");
  ASSERT_EQ(*upload_.Append(name, 0, "abcdef"), 6);
  const auto package = OpenKeptPackage(folder_ / "packages", name);
  ASSERT_TRUE(package.ok()) << package.status().message();
  const WatchedSyncs syncs;
  ASSERT_TRUE(KeepPackage(**package, folder_ / "packages").ok());
  EXPECT_EQ(syncs.names(), std::vector<std::string>{"packages"});
}

TEST_F(PackageUploadTest, APackageThatIsAskedForAgainOutlivesALaterOne) {
  const PackageName name = Named("abcdef");
  const PackageName later = Named("ghi");
  EXPECT_EQ(*upload_.Append(name, 0, "abcdef"), 6);
  EXPECT_EQ(*upload_.Append(later, 0, "ghi"), 3);
  const auto now = std::filesystem::file_time_type::clock::now();
  const std::string packages = folder_ / "packages/";
  std::filesystem::last_write_time(packages + name.sha256, now - std::chrono::hours(2));
  std::filesystem::last_write_time(packages + later.sha256, now - std::chrono::hours(1));
  EXPECT_EQ(upload_.Have(name), 6);
  TrimKeptPackages(packages, {}, 1);
  EXPECT_EQ(Kept(name), "abcdef");
  EXPECT_EQ(upload_.Have(later), 0);
}

TEST_F(PackageUploadTest, WhatDoesNotFollowIsNotTaken) {
  const PackageName name = Named("abcdef");
  EXPECT_EQ(*upload_.Append(name, 0, "abc"), 3);
  EXPECT_EQ(upload_.Append(name, 0, "abc").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(upload_.Append(name, 4, "ef").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(upload_.Append(name, 3, "defg").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*upload_.Append(name, 3, "def"), 6);
  EXPECT_EQ(Kept(name), "abcdef");
}

TEST_F(PackageUploadTest, WhatIsNotWhatWasNamedBeginsAnew) {
  const PackageName name = Named("abcdef");
  EXPECT_EQ(upload_.Append(name, 0, "abcxyz").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(upload_.Have(name), 0);
  EXPECT_EQ(*upload_.Append(name, 0, "abcdef"), 6);
  EXPECT_EQ(Kept(name), "abcdef");
}

TEST_F(PackageUploadTest, WhatFindsNoRoomLeavesSome) {
  const SmallDisk disk(folder_ / "small", 1 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << "a small disk needs root";
  PackageUpload upload(folder_ / "small/packages", "ada");
  const PackageName name = Named(std::string(4 << 20, 'x'));
  ASSERT_TRUE(upload.Append(name, 0, std::string(512 << 10, 'x')).ok());
  EXPECT_EQ(upload.Append(name, 512 << 10, std::string(1 << 20, 'x')).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(upload.Have(name), 0);
}

TEST_F(PackageUploadTest, TwoComeInBesideEachOther) {
  const PackageName first = Named("first");
  const PackageName second = Named("second");
  EXPECT_EQ(*upload_.Append(first, 0, "fi"), 2);
  EXPECT_EQ(*upload_.Append(second, 0, "sec"), 3);
  EXPECT_EQ(*upload_.Append(first, 2, "rst"), 5);
  EXPECT_EQ(*upload_.Append(second, 3, "ond"), 6);
  EXPECT_EQ(Kept(first), "first");
  EXPECT_EQ(Kept(second), "second");
}

TEST_F(PackageUploadTest, NobodySpoilsWhatIsAnothers) {
  const PackageName name = Named("abcdef");
  PackageUpload eve(folder_ / "packages", "eve");
  EXPECT_EQ(*eve.Append(name, 0, "xyz"), 3);
  EXPECT_EQ(upload_.Have(name), 0);
  EXPECT_EQ(*upload_.Append(name, 0, "abcdef"), 6);
  EXPECT_EQ(Kept(name), "abcdef");
}

TEST_F(PackageUploadTest, WhatOneOwnerLeavesUnfinishedIsBounded) {
  const PackageName first = Named("first");
  PackageUpload eve(folder_ / "packages", "eve");
  EXPECT_EQ(*upload_.Append(first, 0, "fi"), 2);
  EXPECT_EQ(*eve.Append(first, 0, "fi"), 2);
  EXPECT_EQ(*upload_.Append({Named("large").sha256, limits::kPackageBytesMax}, 0, "l"), 1);
  EXPECT_EQ(upload_.Have(first), 0);
  EXPECT_EQ(eve.Have(first), 2) << "another's stays";
}

}  // namespace
}  // namespace tune
