// A database of two sweeps that no tuner works on, "first" and "second", for commands that only
// look.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {

class TwoSweeps : public testing::Test {
 protected:
  TwoSweeps() : path_(folder_ / "tune.db") {
    const auto store = OpenStore(path_);
    WriteSampleSweep(*store, "first");
    WriteSampleSweep(*store, "second");
  }

  TempFolder folder_;
  std::string path_;
};

// Of a command's options: those that name the database alone.
template <typename Options>
Options OfDatabase(const std::string& path) {
  Options options;
  options.db_path = path;
  return options;
}

}  // namespace tune
