// The files that this process has open. Whoever opens one of them again by its path and closes it
// takes all locks from it that the process holds there (POSIX, fcntl): SQLite's are such, and
// another process then takes the database, or its shared memory, for nobody's.
//
// Thread rule: immutable.
#pragma once

#include <sys/stat.h>

#include <set>
#include <utility>

namespace tune {

class OpenFiles {
 public:
  // As of now. Regular files alone.
  static OpenFiles OfThisProcess();

  bool Has(const struct stat& file) const { return files_.contains({file.st_dev, file.st_ino}); }

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace tune
