// Databases as earlier programs wrote them, from tests/golden/db: the sweep "frozen" of
// sample_sweep.h.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <string>

#include "tests/tuner/temp_folder.h"

namespace tune {

// Made from tests/golden/db/v<version>.sql.
inline std::string ThawDatabase(const TempFolder& folder, int64_t version) {
  const std::string path = folder / "frozen.db";
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  const std::string sql = ReadText(std::string(root == nullptr ? "." : root) +
                                   "/tests/golden/db/v" + std::to_string(version) + ".sql");
  EXPECT_FALSE(sql.empty());
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return path;
}

}  // namespace tune
