// The counters in a line of output, and whether lines differ by a counter of time ("epoch 3",
// "[12]", "3/10") or by one that says whose value it is ("Fold 0", "Subject S01", "acc@5", "PM10"):
// values of several things are no iterations of one.
//
// Words of time are few and known; the things that somebody may count have no end. So a counter is
// taken for one of things unless its word is one of time, and what else may change from one
// iteration to the next (values of other metrics, states such as "patience 3") is told by where it
// stands.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tune {

struct LineCounter {
  enum class Kind {
    kTime,   // "epoch 3", "[12]", "3/10".
    kPart,   // Of a word that always names one of several: "fold 0", "rank1", "model svm".
    kThing,  // Of any other word, where it begins the line or is one word with its number.
  };
  Kind kind = Kind::kTime;
  std::string name;    // "fold"; "pm#" of "PM10", "acc@" of "acc@5"; empty: a bare number.
  std::string number;  // "0", or the rest of the word: "s01".

  friend bool operator==(const LineCounter&, const LineCounter&) = default;
};

// Of the text before a value.
std::vector<LineCounter> FindCounters(std::string_view before);

// Whether a counter of time differs between two such texts.
bool HasTimePassed(std::string_view before, std::string_view after);

// By which counter the lines are of several things, "fold"; empty: they are not. `has_time_passed`:
// lines between them say so.
std::string DifferingThing(std::string_view before, std::string_view after, bool has_time_passed);

// One of several trainings, by a heading: "fold 1" of "=== Fold 1 ===" and of "Fold 1: train on
// 100", "stage 2" of "Stage 2: finetuning", "seed 42" of "Running with seed 42", "subject s01" of
// "Subject S01", "organ 3" of "Organ 3"; empty: the line is none.
std::string FindTraining(std::string_view line);

// What stands behind a whole number that counts something within the words before a value, up to
// that value: " episodes: " of "mean return over 100 episodes: 31.2", ": " of "ndcg@10: 0.4";
// empty: the number counts nothing of the kind. `before` and `tail`: the line's text around the
// number.
std::string_view FindCountedWords(std::string_view before, std::string_view tail);

// "epoch 3" of a line that counts time by a word; empty: it does not.
std::string FindTimeWord(std::string_view line);

}  // namespace tune
