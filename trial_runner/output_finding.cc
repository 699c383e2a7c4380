#include "trial_runner/output_finding.h"

#include <cmath>

#include "trial_runner/whole_number.h"

namespace tune {

std::string_view BeforeValue(const OutputFinding& finding) {
  return std::string_view(finding.line).substr(0, finding.match.number_begin);
}

std::string_view BehindValue(const OutputFinding& finding) {
  return std::string_view(finding.line).substr(finding.match.number_end);
}

bool IsSameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string_view RestOf(const OutputFinding& finding) {
  if (finding.match.match_end != finding.match.number_end) return {};
  const std::string_view line = finding.line;
  const size_t begin = finding.match.number_begin;
  const size_t end = finding.match.number_end;
  return RestBehind(line.substr(begin, end - begin), line.substr(end));
}

DataSplit SplitBehind(const OutputFinding& finding) {
  const DataSplit split = FindDataSplit(BehindValue(finding));
  return split.name.empty() ? finding.context.heading : split;
}

bool IsUnderHeading(const OutputFinding& finding) {
  return FindDataSplit(BehindValue(finding)).name.empty();
}

bool HaveTwoUnits(const OutputFinding& a, const OutputFinding& b) {
  const auto unit = [](const OutputFinding& finding) { return UnitBehind(BehindValue(finding)); };
  return std::isfinite(a.value) && std::isfinite(b.value) && unit(a) != unit(b);
}

bool NameTwoSplits(const OutputFinding& a, const OutputFinding& b) {
  const DataSplit one = SplitBehind(a);
  const DataSplit other = SplitBehind(b);
  return !one.name.empty() && !other.name.empty() && one.name != other.name;
}

bool AreOfTwoKinds(const OutputFinding& a, const OutputFinding& b) {
  const auto form = [](const OutputFinding& finding) {
    return LineForm(std::string_view(finding.line).substr(0, finding.match.number_begin));
  };
  const auto summary = [](const OutputFinding& finding) {
    return FindSummaryWord(BehindValue(finding));
  };
  return form(a) != form(b) || NameTwoSplits(a, b) || summary(a) != summary(b);
}

bool AreOfOneEpoch(const OutputFinding& a, const OutputFinding& b) {
  const EpochPlace one = FindEpoch(BeforeValue(a));
  return one.epoch && one.counters == FindEpoch(BeforeValue(b)).counters;
}

bool AreAfterOneEpoch(const OutputFinding& first, const OutputFinding& a, const OutputFinding& b) {
  const std::string& time = a.context.time;
  const bool has_changed = !first.context.time.empty() && first.context.time != time;
  return time.starts_with("epoch") && time == b.context.time && has_changed &&
         !FindEpoch(BeforeValue(a)).epoch && !FindEpoch(BeforeValue(b)).epoch &&
         !HasTimePassed(a.line, b.line);
}

bool BeginsNextRound(const OutputFinding& first, const OutputFinding& before,
                     const OutputFinding& leading) {
  const auto percent = [](const OutputFinding& finding) {
    return FindPercent(BeforeValue(finding)).value_or(-1);
  };
  const double now = percent(leading);
  return percent(first) >= 0 && percent(first) < 100 && percent(before) == 100 && now >= 0 &&
         now < 100;
}

std::optional<int64_t> EpochOf(const OutputFinding& finding) {
  const std::optional<int64_t> epoch = FindEpoch(BeforeValue(finding)).epoch;
  return epoch ? epoch : finding.context.epoch;
}

std::string ThingOf(const OutputFinding& a, const OutputFinding& b) {
  return DifferingThing(BeforeValue(a), BeforeValue(b), a.context.time != b.context.time);
}

bool GoesBack(const OutputFinding& a, const OutputFinding& b) {
  const auto one = EpochOf(a);
  const auto other = EpochOf(b);
  return one && other && *other < *one;
}

}  // namespace tune
