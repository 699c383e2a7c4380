#include "trial_runner/output_metrics.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tune {
namespace {

// One too large for RE2's memory is refused as any other that cannot be used.
re2::RE2::Options PatternOptions() {
  re2::RE2::Options options(re2::RE2::Latin1);  // Output need not be UTF-8.
  options.set_log_errors(false);
  return options;
}

// "0.93", "+1e-3", "nan", "-inf"; the full stop of a sentence behind it does not count.
std::optional<double> ReadNumberText(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.ends_with('.')) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<OutputPattern> OutputPattern::Make(std::string metric, const std::string& pattern) {
  auto expression = std::make_shared<const re2::RE2>(pattern, PatternOptions());
  if (!expression->ok()) {
    return InvalidArgument("the regular expression '" + pattern +
                           "' cannot be used: " + expression->error());
  }
  if (expression->NumberOfCapturingGroups() == 0) {
    return InvalidArgument("the regular expression '" + pattern +
                           "' has no group; put the number in parentheses: \"acc: ([0-9.]+)\"");
  }
  return OutputPattern(std::move(metric), std::move(expression));
}

std::optional<double> OutputPattern::FindIn(std::string_view line) const {
  std::optional<double> number;
  const re2::StringPiece whole(line.data(), line.size());
  re2::StringPiece match[2];  // All of it, and its first group.
  for (size_t begin = 0; begin <= line.size();) {
    const bool is_found =
        expression_->Match(whole, begin, line.size(), re2::RE2::UNANCHORED, match, 2);
    if (!is_found) break;
    const std::string_view text(match[1].data() == nullptr ? "" : match[1].data(), match[1].size());
    if (const std::optional<double> read = ReadNumberText(text)) number = read;
    begin = static_cast<size_t>(match[0].data() - line.data()) + match[0].size();
    if (match[0].empty()) ++begin;
  }
  return number;
}

OutputMetrics::OutputMetrics(std::vector<OutputPattern> patterns)
    : patterns_(std::move(patterns)), found_(patterns_.size()), was_found_(patterns_.size()) {}

std::vector<Metrics> OutputMetrics::Read(std::string_view piece) {
  std::vector<Metrics> whole;
  if (patterns_.empty()) return whole;
  while (!piece.empty()) {
    const size_t end = piece.find_first_of("\r\n");
    const std::string_view part = piece.substr(0, end);
    line_.append(part.substr(0, kLineBytesMax - std::min(kLineBytesMax, line_.size())));
    if (end == std::string_view::npos) break;
    ReadLine(line_, whole);
    line_.clear();
    piece.remove_prefix(end + 1);
  }
  return whole;
}

void OutputMetrics::ReadLine(std::string_view line, std::vector<Metrics>& whole) {
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const std::optional<double> number = patterns_[i].FindIn(line);
    if (!number) continue;
    if (found_[i]) whole.push_back(Take());
    found_[i] = number;
    was_found_[i] = true;
  }
  const bool is_whole = std::all_of(found_.begin(), found_.end(),
                                    [](const auto& number) { return number.has_value(); });
  if (is_whole && !found_.empty()) whole.push_back(Take());
}

Metrics OutputMetrics::Take() {
  Metrics metrics;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (found_[i]) metrics.emplace_back(patterns_[i].metric(), *found_[i]);
    found_[i].reset();
  }
  return metrics;
}

std::vector<Metrics> OutputMetrics::Finish() {
  std::vector<Metrics> whole;
  ReadLine(std::exchange(line_, {}), whole);
  if (Metrics rest = Take(); !rest.empty()) whole.push_back(std::move(rest));
  return whole;
}

std::vector<std::string> OutputMetrics::NeverFound() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < patterns_.size(); ++i) {
    if (!was_found_[i]) names.push_back(patterns_[i].metric());
  }
  return names;
}

}  // namespace tune
