// What a person is told where a value that a program printed may not be what is meant: "WHAT: the
// lines and the remedy". When it is told output_doubts.h says. `leading` is the value that made the
// latest report, `before` the one before it, `first` the trial's first; `pattern` has read them.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trial_runner/output_finding.h"

namespace tune {

// The values that stand under one heading.
struct OutputValueBlock {
  OutputBlock block;
  std::string line;  // Of the first one.
  int64_t count = 0;
};

std::string NumberText(double number);
std::string Quoted(const std::string& line);

// ---- of one line

// It has two values.
std::string NoteOnValues(const OutputPattern& pattern, const OutputFinding& leading);
// What stands around the number may belong to it; empty: nothing does. "9843/10000" tells as much
// as its numerator where each line has the same denominator.
std::string NoteOnRest(const std::optional<OutputFinding>& first, const OutputFinding& leading);
// "mean return over 100 episodes: 31.2", of which the expression reads 100; empty: it does not
// seem to count anything.
std::string NoteOnCount(const OutputPattern& pattern, const OutputFinding& leading);
std::string NoteOnComma(const std::string& metric, const std::string& line);

// ---- of two lines

std::string NoteOnUnits(const OutputFinding& first, const OutputFinding& leading);
std::string NoteOnForms(const OutputPattern& pattern, const OutputFinding& first,
                        const OutputFinding& leading);
std::string NoteOnEpoch(const OutputFinding& before, const OutputFinding& leading);
std::string NoteOnSections(const OutputFinding& before, const OutputFinding& leading);
std::string NoteOnTrainings(const OutputFinding& before, const OutputFinding& leading);
std::string NoteOnPercent(const OutputPattern& pattern, const OutputFinding& before,
                          const OutputFinding& leading);
std::string NoteOnSeveral(const std::string& counter, const OutputFinding& before,
                          const OutputFinding& leading);
std::string NoteOnRedraw(const OutputFinding& before, const OutputFinding& leading);
std::string NoteOnTwins(const OutputFinding& before, const OutputFinding& leading);
std::string NoteOnBlocks(const std::string& metric, const OutputValueBlock& one,
                         const OutputValueBlock& other);
// A bar's states.
std::string NoteOnState(const std::string& metric, const std::string& before,
                        const std::string& now);
// `metric` is printed behind the leading one, of which the name.
std::string NoteOnLag(const std::string& metric, const std::string& leading);
// They are printed in one order and then in another.
std::string NoteOnOrder(const std::string& metric, const std::string& leading);
// The last value of `metric` is printed behind the last one of the leading one.
std::string NoteOnLeftOver(const std::string& metric, const std::string& leading);

}  // namespace tune
