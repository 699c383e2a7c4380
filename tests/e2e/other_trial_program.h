// Our programs in a folder, with another one in the place of tune_trial_food11.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/e2e/program.h"

namespace tune::testing {

class OtherTrialProgram {
 public:
  // `name`: of a program beside the tests. Programs that are started from now on are these.
  OtherTrialProgram(const TestFolder& folder, const std::string& name) {
    namespace fs = std::filesystem;
    const char* const build = std::getenv("TUNE_BUILD_DIR");
    const fs::path other =
        fs::absolute(fs::path(build == nullptr ? "build/release" : build) / "tests" / name);
    const std::string bin = folder / "bin/";
    fs::create_directory(bin);
    // Copies of those that look beside themselves for the others.
    for (const char* program : {"tune", "tune_cli", "tune_worker"}) {
      fs::copy_file(programs_ + "/" + program, bin + program);
    }
    for (const char* program : {"tune_trial", "tune_trial_command", "food11"}) {
      fs::create_symlink(programs_ + "/" + program, bin + program);
    }
    fs::create_symlink(other, bin + "tune_trial_food11");
    setenv("TUNE_BIN_DIR", bin.c_str(), 1);
  }
  ~OtherTrialProgram() { setenv("TUNE_BIN_DIR", programs_.c_str(), 1); }
  OtherTrialProgram(const OtherTrialProgram&) = delete;
  OtherTrialProgram& operator=(const OtherTrialProgram&) = delete;

 private:
  const std::string programs_ = std::filesystem::absolute(BinDir()).string();
};

}  // namespace tune::testing
