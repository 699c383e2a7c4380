#include "tuner/page/page_json.h"

#include "core/json.h"

namespace tune {
namespace {

bool IsJson(std::string_view name) {
  return name == "config" || name == "metrics" || name == "spec" || name == "other_workers" ||
         name == "devices";
}

}  // namespace

void AppendColumn(const Statement& row, int column, std::string& out) {
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      out += "null";
      return;
    case ColumnKind::kInteger:
      out += std::to_string(row.Int(column));
      return;
    case ColumnKind::kReal:
      AppendJson(Value(row.Real(column)), out);
      return;
    case ColumnKind::kText:
    case ColumnKind::kBlob:
      if (IsJson(row.Name(column))) {
        out += row.Text(column);
      } else {
        AppendJsonString(row.Text(column), out);
      }
  }
}

void AppendField(std::string_view name, const Value& value, std::string& out) {
  out += out.empty() || out.back() == '{' ? "" : ",";
  AppendJsonString(name, out);
  out += ':';
  AppendJson(value, out);
}

void AppendNumber(std::optional<double> value, std::string& out) {
  AppendJson(value ? Value(*value) : Value(), out);
}

MetricColumn ColumnOf(const std::string& metric, const std::string& own) {
  if (metric == own) return {MetricColumn::kOwn, ""};
  if (metric.find('"') != std::string::npos) return {MetricColumn::kKey, metric};
  return {MetricColumn::kPath, "$.\"" + metric + "\""};
}

Result<std::string> RowsAsJson(Database& database, const char* sql, int64_t parameter) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database.Kept(sql));
  rows->BindAll(parameter);
  std::string out = "[";
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
    if (!has_row) return out + "]";
    out += out.size() > 1 ? ",{" : "{";
    for (int i = 0; i < rows->column_count(); ++i) {
      if (i > 0) out += ',';
      AppendJsonString(rows->Name(i), out);
      out += ':';
      AppendColumn(*rows, i, out);
    }
    out += '}';
  }
}

Result<std::string> TableAsJson(Database& database, const char* sql, int64_t parameter) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement rows, database.Kept(sql));
  rows->BindAll(parameter);
  std::string out = R"({"columns":[)";
  for (int i = 0; i < rows->column_count(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(rows->Name(i), out);
  }
  out += R"(],"rows":[)";
  for (bool is_first = true;; is_first = false) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, rows->Step());
    if (!has_row) return out + "]}";
    out += is_first ? "[" : ",[";
    for (int i = 0; i < rows->column_count(); ++i) {
      if (i > 0) out += ',';
      AppendColumn(*rows, i, out);
    }
    out += ']';
  }
}

}  // namespace tune
