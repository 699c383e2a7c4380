// What kind of line a value was read in, so that a summary ("Best val_acc: 0.95") is told from the
// lines of epochs ("Epoch 3: loss 0.1, val_acc 0.91").
//
// The form of a line is whether a word is indented, its first word, the words before the value that
// name no other number, and the counters that an epoch's own line has not ("step 100", and how many
// stand in brackets, "[1/4][20/300]"). Numbers (of
// which line_counters.h knows more), times, units, bars and the values of other metrics are left
// out: they differ from one epoch to the next.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

// Of what stands before a value: "epoch|val_acc", lower-case; "  epoch|val_acc" where it is
// indented.
std::string LineForm(std::string_view before);

// How much the text before a value counts: 2 for "[1/4][20/300]" and "step 100 [3]", 1 for "[1/4]".
size_t CountLevels(std::string_view before);

// Which part of the data a value is of, by the text behind it: "train" of "0.99 (Train)", "val" of
// "0.9, 'split': 'valid'}". A word that names another number does not count.
struct DataSplit {
  std::string_view name;  // Empty: nothing says it.
  std::string_view word;  // As it stands there.
};
DataSplit FindDataSplit(std::string_view behind);
// By the text before it, of which the last such word counts: "val" of "train loss 1.0 | val loss ".
DataSplit FindLastDataSplit(std::string_view before);

// Of a line that is a heading of those below it: "Training:", "--- Validation ---".
DataSplit FindHeading(std::string_view line);

// The words of a heading that names no part of the data: "clean set" of "Clean set:", of
// "=== Clean set ===" and of "Clean set..."; empty: the line is none.
std::string FindSection(std::string_view line);

// What a line without a value is to the lines below it.
struct BlockLine {
  enum class Kind {
    kHeading,  // "Baseline results", "=== test ===", "RandomForest".
    kValues,   // It has numbers or no words: of the block that goes on.
    kProse,    // A sentence, or a remark such as "Saving the best model".
  };
  Kind kind = Kind::kValues;
  std::string name = {};   // Of a heading: its words in lower case.
  bool is_titled = false;  // It is set off by a frame or a colon.
  bool is_named = false;   // It names a part of the data or a summary.
};
BlockLine FindBlock(std::string_view line);

// "25" of "[25%] val": how far a round had come, by the text before a value.
std::optional<double> FindPercent(std::string_view before);

// "mean" of "0.5 (mean of 3)", "before training" of "0.5 (before training)": what makes one value
// out of others, or stands beside them; empty: none does. A word that names another number does not
// count, nor a remark that the value is a new best one.
std::string FindSummaryWord(std::string_view behind);

// Which epoch the text before a value names.
struct EpochPlace {
  std::optional<int64_t> epoch;
  // All whole numbers there, "3/10/" of "Epoch 3/10 - 12s - acc": of the same epoch, other ones
  // count batches, folds or ranks.
  std::string counters;
};
EpochPlace FindEpoch(std::string_view before);

// The unit behind a number: "ms" of "12ms" and "12 ms", "%"; empty: none.
std::string_view UnitBehind(std::string_view tail);

// What stands right behind a number and may be the rest of it: "/1000" and " of 1000" of a
// fraction, " -> 0.6" of a change, ":45" of a time, " 234.5" of a group of thousands, "(3)e-2" of
// an uncertainty, "-fold" of "5-fold"; empty: nothing does. `number` as it was read.
std::string_view RestBehind(std::string_view number, std::string_view tail);

// The line up to `begin`, as a regular expression from the line's beginning: each number stands for
// any.
std::string LineBeginning(std::string_view line, size_t begin);

// The text as a regular expression that matches it.
std::string EscapedForRegex(std::string_view text);

// The word right before `begin`, with what parts it from there: "val " of "epoch 3 val acc".
std::string_view WordBefore(std::string_view line, size_t begin);

}  // namespace tune
