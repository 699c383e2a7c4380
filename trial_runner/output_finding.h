// A value that was found in what a program printed, where it stands, and what that says of it and
// of the one before.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trial_runner/line_counters.h"
#include "trial_runner/line_form.h"
#include "trial_runner/output_headings.h"
#include "trial_runner/output_lines.h"
#include "trial_runner/output_pattern.h"

namespace tune {

// Where a value was read.
struct OutputFinding {
  std::string metric;
  double value = 0;
  OutputStream stream = OutputStream::kStdout;
  std::string line;
  OutputMatch match = {};
  bool is_redrawn = false;     // The line was drawn over one that stood.
  OutputContext context = {};  // What the line stands under.
};

// What stands before the number in its line, and behind it.
std::string_view BeforeValue(const OutputFinding& finding);
std::string_view BehindValue(const OutputFinding& finding);
// What follows the number without a space, such as "/100"; nothing where the expression itself says
// what stands there.
std::string_view RestOf(const OutputFinding& finding);
// In its line, else above it.
std::optional<int64_t> EpochOf(const OutputFinding& finding);
// As far as the line says it behind the value, else what it stands under.
DataSplit SplitBehind(const OutputFinding& finding);
bool IsUnderHeading(const OutputFinding& finding);

// ---- of two, the earlier one first

bool IsSameValue(double a, double b);  // NaN is NaN.
bool HaveTwoUnits(const OutputFinding& a, const OutputFinding& b);
bool NameTwoSplits(const OutputFinding& a, const OutputFinding& b);
// By what stands before the value, or by what part of the data is named behind it.
bool AreOfTwoKinds(const OutputFinding& a, const OutputFinding& b);
bool AreOfOneEpoch(const OutputFinding& a, const OutputFinding& b);
// By headings such as "Epoch 2", "Validation after epoch 2" and "Test after epoch 2", which changed
// since the first value: a line at the beginning may say how many epochs there will be.
bool AreAfterOneEpoch(const OutputFinding& first, const OutputFinding& a, const OutputFinding& b);
// The round was at its end, and the next one has begun.
bool BeginsNextRound(const OutputFinding& first, const OutputFinding& before,
                     const OutputFinding& leading);
bool GoesBack(const OutputFinding& a, const OutputFinding& b);
// What they are of, where it is no iteration: "fold"; empty: nothing such.
std::string ThingOf(const OutputFinding& a, const OutputFinding& b);

}  // namespace tune
