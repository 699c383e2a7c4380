#include "trial_runner/output_doubts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trial_runner/whole_number.h"

namespace tune {
namespace {

constexpr int64_t kReportsForLag = 3;
constexpr int64_t kTwinChangesForNote = 2;
constexpr int64_t kCommasForNote = 3;
constexpr size_t kBlocksForNote = 3;
constexpr size_t kBlocksMax = 16;

size_t IndexOf(OutputStream stream) { return stream == OutputStream::kStderr ? 1 : 0; }

}  // namespace

void OutputDoubts::OnValue(size_t pattern, bool is_first) {
  Lag& lag = lags_[pattern];
  if (is_first) lag.reports_before = report_count_;
  lag.is_more_often = lag.is_more_often || lag.is_new;
  lag.is_new = true;
}

// ---- bars

void OutputDoubts::FollowState(OutputStream stream, const std::string& text,
                               const OutputPattern& pattern) {
  if (has_noted_states_) return;
  const auto epoch = [&](const std::string& line) -> std::optional<int64_t> {
    const auto match = pattern.FindIn(line);
    if (!match.ok() || !*match) return std::nullopt;
    return FindEpoch(std::string_view(line).substr(0, (*match)->number_begin)).epoch;
  };
  std::string& state = states_[IndexOf(stream)];
  const std::optional<int64_t> now = epoch(text);
  if (!now) return;
  const std::optional<int64_t> before = epoch(state);
  if (before && *before != *now) {
    has_noted_states_ = true;
    pending_note_ = NoteOnState(pattern.metric(), state, text);
  }
  state = text;
}

void OutputDoubts::EndState(OutputStream stream) { states_[IndexOf(stream)].clear(); }

// ---- a report

std::string OutputDoubts::OnReport(const std::vector<std::optional<OutputFinding>>& found,
                                   size_t leader, const OutputPattern& pattern) {
  std::string note = OnLeading(found, leader, pattern);
  return note.empty() ? std::exchange(pending_note_, {}) : note;
}

std::string OutputDoubts::OnLeading(const std::vector<std::optional<OutputFinding>>& found,
                                    size_t leader, const OutputPattern& pattern) {
  const OutputFinding& leading = *found[leader];
  ++report_count_;
  if (std::string note = OnLag(found, leader); !note.empty()) return note;
  if (std::string note = OnOrder(found, leader); !note.empty()) return note;
  if (std::string note = OnLine(leading, pattern); !note.empty()) return note;
  if (!first_) {
    first_ = last_ = leading;
    sections_.insert(leading.context.section);
    blocks_.push_back({leading.context.block, leading.line, 1});
    return "";
  }
  if (!has_noted_units_ && HaveTwoUnits(*first_, leading)) {
    has_noted_units_ = true;
    return NoteOnUnits(*first_, leading);
  }
  if (has_iteration_) return "";
  const OutputFinding before = *std::exchange(last_, leading);
  if (has_noted_forms_) return "";
  if (std::string note = OnKind(before, leading, pattern); !note.empty()) {
    has_noted_forms_ = true;
    return note;
  }
  if (std::string note = OnTwins(before, leading); !note.empty()) return note;
  CountInBlock(before, leading);
  if (HasEachABlock(kBlocksForNote)) {
    has_noted_forms_ = true;
    return NoteOnBlocks(leading.metric, blocks_[0], blocks_[1]);
  }
  return OnTime(before, leading, pattern);
}

std::string OutputDoubts::OnLine(const OutputFinding& leading, const OutputPattern& pattern) {
  if (leading.match.passed_over && !std::exchange(has_noted_values_, true)) {
    return NoteOnValues(pattern, leading);
  }
  if (!has_noted_rest_) {
    std::string rest = NoteOnRest(first_, leading);
    if (rest.empty()) rest = NoteOnCount(pattern, leading);
    has_noted_rest_ = !rest.empty();
    if (has_noted_rest_) return rest;
  }
  return OnComma(leading);
}

// Of what the two lines are: parts of the data, folds, trainings.
std::string OutputDoubts::OnKind(const OutputFinding& before, const OutputFinding& leading,
                                 const OutputPattern& pattern) {
  if (AreOfTwoKinds(*first_, leading)) return NoteOnForms(pattern, *first_, leading);
  if (const std::string counter = ThingOf(before, leading); !counter.empty()) {
    return NoteOnSeveral(counter, before, leading);
  }
  if (IsUnderTwoSections(before, leading)) return NoteOnSections(before, leading);
  const std::string& training = before.context.training;
  if (!training.empty() && !leading.context.training.empty() &&
      training != leading.context.training) {
    return NoteOnTrainings(before, leading);
  }
  return "";
}

// When they were printed.
std::string OutputDoubts::OnTime(const OutputFinding& before, const OutputFinding& leading,
                                 const OutputPattern& pattern) {
  if (leading.is_redrawn && !has_noted_redraws_ && !HasTimePassed(before.line, leading.line)) {
    has_noted_redraws_ = true;
    return NoteOnRedraw(before, leading);
  }
  if (!has_noted_percent_ && BeginsNextRound(*first_, before, leading)) {
    has_noted_percent_ = true;
    return NoteOnPercent(pattern, before, leading);
  }
  const bool is_on_both = before.stream != leading.stream;
  const bool is_doubtful = is_on_both || AreOfOneEpoch(before, leading) ||
                           GoesBack(before, leading) || AreAfterOneEpoch(*first_, before, leading);
  if (has_noted_epoch_ || !is_doubtful) return "";
  has_noted_epoch_ = true;
  return NoteOnEpoch(before, leading);
}

// ---- one doubt each

// A metric that is printed behind the leading one each time is in the next report. One that is
// printed more often, such as the loss of each batch, would make reports of its own.
std::string OutputDoubts::OnLag(const std::vector<std::optional<OutputFinding>>& found,
                                size_t leader) {
  std::string metric;
  for (size_t i = 0; i < lags_.size(); ++i) {
    Lag& lag = lags_[i];
    const bool is_behind = found[i] && lag.reports_before == 1 && !lag.is_more_often &&
                           found[i]->line != found[leader]->line &&
                           found[i]->stream == found[leader]->stream;  // Two pipes have no order.
    if (is_behind && lag.is_new) ++lag.reports_with;
    if (lag.is_new) ++lag.reports_with_new;
    lag.was_stale = lag.was_stale || (found[i] && !lag.is_new);
    if (found[i]) lag.reported = found[i]->value;
    lag.is_new = false;
    const bool is_always = is_behind && lag.reports_with == report_count_ - 1;
    if (is_always && report_count_ >= kReportsForLag && metric.empty()) metric = found[i]->metric;
  }
  if (metric.empty() || std::exchange(has_noted_lag_, true)) return "";
  return NoteOnLag(metric, found[leader]->metric);
}

// Once none came between two leading values, and once two did: they come in one order and then in
// another.
std::string OutputDoubts::OnOrder(const std::vector<std::optional<OutputFinding>>& found,
                                  size_t leader) {
  for (size_t i = 0; i < lags_.size(); ++i) {
    const Lag& lag = lags_[i];
    if (i == leader || !found[i] || !lag.is_deciding || !lag.was_stale || !lag.is_more_often)
      continue;
    if (found[i]->stream != found[leader]->stream || std::exchange(has_noted_order_, true))
      continue;
    return NoteOnOrder(found[i]->metric, found[leader]->metric);
  }
  return "";
}

// Each report had a new one, and there is one more: either it is printed before the leading one and
// once more at the end, or once before all and then behind it, so that each report has that of the
// iteration before.
std::string OutputDoubts::OnLeftOver(const std::vector<std::optional<OutputFinding>>& found,
                                     size_t leader) const {
  if (has_noted_lag_ || report_count_ == 0) return "";
  for (size_t i = 0; i < lags_.size(); ++i) {
    const Lag& lag = lags_[i];
    if (i == leader || !lag.is_deciding || !lag.is_new || lag.is_more_often) continue;
    const bool is_once_each = lag.reports_with_new == report_count_;
    const bool is_repeated = lag.reported && IsSameValue(*lag.reported, found[i]->value);
    if (!is_once_each || is_repeated || found[i]->stream != found[leader]->stream) continue;
    return NoteOnLeftOver(found[i]->metric, found[leader]->metric);
  }
  return "";
}

// A number without the comma shows that it sets thousands apart; so does a point beside it.
std::string OutputDoubts::OnComma(const OutputFinding& leading) {
  if (!may_have_comma_ || !std::isfinite(leading.value)) return "";
  const std::string_view number =
      std::string_view(leading.line)
          .substr(leading.match.number_begin,
                  leading.match.number_end - leading.match.number_begin);
  may_have_comma_ = MayHaveDecimalComma(number) && !FindDecimalMarks(leading.line).has_point;
  comma_count_ = may_have_comma_ ? comma_count_ + 1 : 0;
  comma_line_ = leading.line;
  if (comma_count_ < kCommasForNote) return "";
  std::string note = CommaSoFar(leading.metric);
  may_have_comma_ = false;
  return note;
}

std::string OutputDoubts::CommaSoFar(const std::string& metric) const {
  return may_have_comma_ && comma_count_ > 0 ? NoteOnComma(metric, comma_line_) : "";
}

// Two handlers of one logger print each line twice. A value that stays the same for a while does
// not change each second time.
std::string OutputDoubts::OnTwins(const OutputFinding& before, const OutputFinding& leading) {
  if (!are_all_twins_ || report_count_ % 2 != 0) return "";
  are_all_twins_ = IsSameValue(before.value, leading.value) &&
                   (before.line.ends_with(leading.line) || leading.line.ends_with(before.line));
  if (twin_value_ && !IsSameValue(*twin_value_, leading.value)) ++twin_changes_;
  twin_value_ = leading.value;
  if (!are_all_twins_ || twin_changes_ < kTwinChangesForNote) return "";
  are_all_twins_ = false;
  return NoteOnTwins(before, leading);
}

// Once the first of them comes again: till then it may be one heading after the other.
bool OutputDoubts::IsUnderTwoSections(const OutputFinding& before, const OutputFinding& leading) {
  constexpr size_t kSectionsMax = 16;
  const bool is_known = sections_.contains(leading.context.section);
  if (sections_.size() < kSectionsMax) sections_.insert(leading.context.section);
  return is_known && leading.context.section != before.context.section &&
         !FindEpoch(BeforeValue(leading)).epoch;
}

void OutputDoubts::CountInBlock(const OutputFinding& before, const OutputFinding& leading) {
  const OutputBlock& block = leading.context.block;
  counts_time_ = counts_time_ || HasTimePassed(before.line, leading.line);
  const auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const OutputValueBlock& one) {
    return one.block.name == block.name;
  });
  if (known != blocks_.end()) {
    ++known->count;
  } else if (blocks_.size() < kBlocksMax) {
    blocks_.push_back({block, leading.line, 1});
  }
}

// The first values of the trial, so many, each stand under a heading of their own.
bool OutputDoubts::HasEachABlock(size_t count) const {
  return !counts_time_ && blocks_.size() == count &&
         std::all_of(blocks_.begin(), blocks_.end(), [](const OutputValueBlock& one) {
           return one.count == 1 && !one.block.name.empty();
         });
}

// ---- the end

std::string OutputDoubts::AtEnd(const std::string& metric) const {
  if (!pending_note_.empty()) return pending_note_;
  if (std::string comma = CommaSoFar(metric); !comma.empty()) return comma;
  if (has_noted_forms_ || has_noted_epoch_ || counts_time_ || blocks_.size() < 2) return "";
  if (HasEachABlock(2)) return NoteOnBlocks(metric, blocks_[0], blocks_[1]);
  for (const OutputValueBlock& one : blocks_) {
    const bool is_alone = one.count == 1 && one.block.kind != OutputBlock::Kind::kPlain;
    if (is_alone && !one.block.name.empty()) {
      return NoteOnBlocks(metric, one, &one == &blocks_[0] ? blocks_[1] : blocks_[0]);
    }
  }
  return "";
}

}  // namespace tune
