// Rows of the database as JSON for the page.
//
// Thread rule: the database's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "core/value.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A column's value; of config, metrics, spec, other_workers and devices, which hold JSON, the text
// itself.
void AppendColumn(const Statement& row, int column, std::string& out);

// `"name":value`, after a comma unless an object begins there.
void AppendField(std::string_view name, const Value& value, std::string& out);
void AppendNumber(std::optional<double> value, std::string& out);

// Where report_rows holds a metric: in `value`, at a path of `metrics`, or, as SQLite's paths have
// no escape for '"', at a key of it.
struct MetricColumn {
  enum Kind : size_t { kOwn, kPath, kKey };
  Kind kind = kOwn;
  std::string parameter;  // The path or the key, for ?2.
};
MetricColumn ColumnOf(const std::string& metric, const std::string& own);

// "[{...},{...}]" of a query with one parameter.
Result<std::string> RowsAsJson(Database& database, const char* sql, int64_t parameter);

// {"columns":["a","b"],"rows":[[1,2],[3,4]]} of the same: half as long.
Result<std::string> TableAsJson(Database& database, const char* sql, int64_t parameter);

}  // namespace tune
