#include "tuner/row_lines.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"

namespace tune {
namespace {

// Stands between fields: in no name and no number, and hardly in an error's text.
constexpr char kBetween = '\x1f';

// The first fields that differ.
std::string Difference(const std::string& what, std::string_view table, std::string_view journal) {
  if (table.empty() || journal.empty()) {
    return what + ": is in the " + (table.empty() ? "journal" : "table") + " alone";
  }
  while (!table.empty() && !journal.empty()) {
    const std::string_view a = table.substr(0, table.find(kBetween));
    const std::string_view b = journal.substr(0, journal.find(kBetween));
    if (a != b) {
      return what + ": the table says " + std::string(a) + ", the journal comes to " +
             std::string(b);
    }
    table.remove_prefix(std::min(table.size(), a.size() + 1));
    journal.remove_prefix(std::min(journal.size(), b.size() + 1));
  }
  return what + ": differ";
}

template <typename Key, typename Name>
std::optional<std::string> Compare(const std::map<Key, std::string>& table,
                                   const std::map<Key, std::string>& journal, const Name& name) {
  for (const auto& [key, line] : table) {
    const auto other = journal.find(key);
    if (other == journal.end()) return Difference(name(key), line, "");
    if (other->second != line) return Difference(name(key), line, other->second);
  }
  for (const auto& [key, line] : journal) {
    if (!table.contains(key)) return Difference(name(key), "", line);
  }
  return std::nullopt;
}

std::optional<std::string> CompareInOrder(const std::vector<std::string>& table,
                                          const std::vector<std::string>& journal,
                                          const std::string& what) {
  const size_t count = std::max(table.size(), journal.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string_view a = i < table.size() ? table[i] : std::string_view();
    const std::string_view b = i < journal.size() ? journal[i] : std::string_view();
    if (a != b) return Difference(what + std::to_string(i + 1), a, b);
  }
  return std::nullopt;
}

}  // namespace

void AppendMetrics(const Metrics& metrics, std::string& out) {
  out.push_back('{');
  for (const auto& [name, value] : metrics) {
    if (out.back() != '{') out.push_back(',');
    AppendJsonString(name, out);
    out.push_back(':');
    AppendJsonNumber(value, out);
  }
  out.push_back('}');
}

RowLine& RowLine::Add(std::string_view name, std::string_view text) {
  if (!text_.empty()) text_.push_back(kBetween);
  text_ += name;
  text_.push_back('=');
  text_ += text;
  return *this;
}

RowLine& RowLine::Add(std::string_view name, int64_t number) {
  return Add(name, std::string_view(std::to_string(number)));
}

RowLine& RowLine::Add(std::string_view name, const std::optional<int64_t>& number) {
  return number ? Add(name, *number) : Add(name, std::string_view("NULL"));
}

RowLine& RowLine::Add(std::string_view name, const std::optional<double>& number) {
  if (!number || std::isnan(*number)) return Add(name, std::string_view("NULL"));
  std::string text;
  AppendJsonNumber(*number, text);
  return Add(name, std::string_view(text));
}

std::optional<std::string> FirstDifference(const SweepLines& table, const SweepLines& journal) {
  const auto trial = Compare(table.trials, journal.trials,
                             [](int64_t number) { return "trial " + std::to_string(number); });
  if (trial) return trial;
  const auto attempt =
      Compare(table.attempts, journal.attempts, [](const std::pair<int64_t, int64_t>& key) {
        return "attempt " + std::to_string(key.second) + " of trial " + std::to_string(key.first);
      });
  if (attempt) return attempt;
  if (auto report = CompareInOrder(table.reports, journal.reports, "report ")) return report;
  if (auto order = CompareInOrder(table.orders, journal.orders, "order ")) return order;
  return CompareInOrder(table.exploits, journal.exploits, "exploit ");
}

}  // namespace tune
