// The rows of a sweep as lines of text, so that what its journal comes to (replay_lines.h) can be
// compared with what its tables hold (sqlite/stored_lines.h).
//
// Thread rule: one thread; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metric.h"

namespace tune {

// "status=TERMINATED", "iterations=4", ...: one row, its fields in a fixed order.
class RowLine {
 public:
  RowLine& Add(std::string_view name, std::string_view text);
  RowLine& Add(std::string_view name, int64_t number);
  RowLine& Add(std::string_view name, const std::optional<int64_t>& number);
  RowLine& Add(std::string_view name, const std::optional<double>& number);  // NaN is nothing.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// {"acc":0.5,"loss":null} as report_rows holds them.
void AppendMetrics(const Metrics& metrics, std::string& out);

struct SweepLines {
  std::map<int64_t, std::string> trials;                        // By number.
  std::map<std::pair<int64_t, int64_t>, std::string> attempts;  // By trial and number.
  std::vector<std::string> reports;                             // In order of arrival.
  std::vector<std::string> orders;
  std::vector<std::string> exploits;
};

// "trial 3: the table says status=RUNNING, the journal comes to status=TERMINATED"; nothing when
// they are equal.
std::optional<std::string> FirstDifference(const SweepLines& table, const SweepLines& journal);

}  // namespace tune
