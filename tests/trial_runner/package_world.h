// A folder to pack, and a cache to keep it in.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/posix/nameless_file.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/package/package_store.h"
#include "trial_runner/package/packed_folder.h"

namespace tune {

inline constexpr int64_t kAnyBytes = limits::kPackageBytesMax;

class PackageFolder : public ::testing::Test {
 protected:
  PackageFolder() {
    std::filesystem::create_directories(From("sub/empty"));
    Write("train.py", "print(1)\n");
    Write("sub/run.sh", "#!/bin/sh\n");
    chmod(From("sub/run.sh").c_str(), 0700);
    std::filesystem::create_symlink("../train.py", From("sub/link"));
  }

  std::string From(const std::string& name) const { return folder_ / ("from/" + name); }
  void Write(const std::string& name, const std::string& text) const {
    WriteText(From(name), text);
  }
  PackageName Name() const {
    const Result<PackageName> name = NameFolder(folder_ / "from", kAnyBytes);
    EXPECT_TRUE(name.ok()) << name.status().message();
    return name.ok() ? *name : PackageName();
  }
  std::string Text() const {
    Result<PackedFolder> packed =
        PackedFolder::Pack(folder_ / "from", *OpenNamelessFile(folder_.path()));
    EXPECT_TRUE(packed.ok()) << packed.status().message();
    std::string text;
    while (true) {
      const Result<std::string> piece = packed->Read(static_cast<int64_t>(text.size()), 10);
      EXPECT_TRUE(piece.ok());
      if (!piece.ok() || piece->empty()) return text;
      text += *piece;
    }
  }
  std::vector<std::string> Cached() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/packages")) {
      if (entry.path().extension() != ".list") names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TempFolder folder_;
  Interruption interruption_;
};

}  // namespace tune
