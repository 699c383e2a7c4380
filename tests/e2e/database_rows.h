// What a database holds, read as a stranger would, and whether its journal tells the same story as
// its rows.
//
// Thread rule: values; any thread.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace tune::testing {

// Answers of a query, one string a row, columns joined by '|', numbers with all their bits.
Result<std::vector<std::string>> Rows(const std::string& db, const std::string& sql);

// The same from a copy in `scratch`, so that a database whose writer was killed stays as it was
// left: its WAL is not looked at by anyone before the next tuner.
Result<std::vector<std::string>> RowsOfCopy(const std::string& db, const std::string& scratch,
                                            const std::string& sql);

// Applies the stored journal to a fresh controller, which asks its searcher again, and writes what
// it decides to a second database in `scratch`; then both databases' views are compared, row by
// row. One line for each view that differs, with the first row that does.
std::vector<std::string> CompareWithReplay(const std::string& db, const std::string& scratch);

}  // namespace tune::testing
