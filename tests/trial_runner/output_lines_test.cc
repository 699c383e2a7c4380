// Which lines of an output stand, and which states of a bar were drawn over.
#include "trial_runner/output_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Lines that stand as they are; what was drawn over in parentheses.
std::vector<std::string> Shown(const std::vector<OutputLine>& lines) {
  std::vector<std::string> texts;
  for (const OutputLine& line : lines) {
    texts.push_back(line.stands ? line.text + (line.is_redrawn ? " again" : "")
                                : "(" + line.text + ")");
  }
  return texts;
}
std::vector<std::string> All(const std::string& text, size_t piece = std::string::npos) {
  OutputLines lines;
  std::vector<OutputLine> all;
  for (size_t i = 0; i < text.size(); i += std::min(piece, text.size())) {
    for (OutputLine& line : lines.Add(text.substr(i, piece))) all.push_back(std::move(line));
  }
  for (OutputLine& line : lines.Finish()) all.push_back(std::move(line));
  return Shown(all);
}

TEST(OutputLines, ALineThatEndsWithinAnEscapeSequenceEndsIt) {
  for (const char* const begun : {"\x1b]0;title", "\x1b[", "\x1b", "\x1b]8;;u\x1b"}) {
    OutputLines lines;
    std::vector<OutputLine> all = lines.Add("a\n" + std::string(begun) + "\nb\nc\n");
    for (const OutputLine& line : lines.Finish()) all.push_back(line);
    std::string text;
    for (const OutputLine& line : all) text += line.text + "|";
    EXPECT_THAT(text, ::testing::EndsWith("b|c|")) << begun + 1;
  }
}

TEST(OutputLines, ALineStandsAtItsNewline) {
  OutputLines lines;
  EXPECT_THAT(lines.Add("a\nb"), ElementsAre(OutputLine{"a"}));
  EXPECT_THAT(lines.Add("c\r\n"), ElementsAre(OutputLine{"bc"})) << "as Windows ends lines";
  EXPECT_THAT(lines.Add("end"), IsEmpty());
  EXPECT_THAT(lines.Finish(), ElementsAre(OutputLine{"end"}));
  EXPECT_THAT(lines.Finish(), IsEmpty());
}

TEST(OutputLines, ABarIsOneLineThatWasDrawnOver) {
  EXPECT_THAT(All("\r 1/3\r 2/3\r 3/3\nnext\n"), ElementsAre("( 1/3)", "( 2/3)", " 3/3", "next"));
}

TEST(OutputLines, ABarThatIsWipedLeavesNothing) {
  EXPECT_THAT(All("\r3/3 acc 1\r         \rnext\n"), ElementsAre("(3/3 acc 1)", "next"));
  EXPECT_THAT(All("\r3/3 acc 1\r\x1b[Knext\n"), ElementsAre("(3/3 acc 1)", "next"));
  EXPECT_THAT(All("3/3 acc 1\x1b[2K\rnext\n"), ElementsAre("(3/3 acc 1)", "next"));
}

TEST(OutputLines, BackspacesLeadBackToo) {
  EXPECT_THAT(All("1/3\b\b\b\r2/3\b\b\b\b3/3\n"), ElementsAre("(1/3)", "(2/3)", "3/3"));
  EXPECT_THAT(All("wait |\b/\b-\bdone\n"), ElementsAre("wait done"));
}

TEST(OutputLines, ColoursAndTitlesAreTakenOut) {
  EXPECT_THAT(All("\x1b]0;title\x07"
                  "acc \x1b[1;32m0.9\x1b[0m\x1b[K\n"),
              ElementsAre("acc 0.9"));
}

// tqdm draws an inner bar below the outer one, and goes up again.
TEST(OutputLines, NestedBarsAreTwoLines) {
  EXPECT_THAT(All("\router 0\n\rinner 1\x1b[A\n\rinner 2\x1b[A\router 1\n\rinner 1\x1b[A\n\r       "
                  "\r\x1b[A\router 2\nnext\n"),
              ElementsAre("(inner 1)", "(outer 0)", "(inner 2)", "(inner 1)", "(outer 1)",
                          "outer 2", "next"));
}

// Each was a line when it was ended, and no program can know that it is read before it is drawn
// over.
TEST(OutputLines, ALineThatStoodStandsAgainWhenItIsDrawnOver) {
  const std::string up = "\x1b[1A\x1b[2K";
  EXPECT_THAT(All("a 1\n" + up + "a 2\n" + up + "a 3\n" + up + "a 4\nnext\n"),
              ElementsAre("a 1", "a 2 again", "a 3 again", "a 4 again", "next"));
  const std::string two = "\x1b[2A\x1b[2K";
  EXPECT_THAT(All("a 1\nb 1\n" + two + "a 2\n\x1b[2Kb 2\nnext\n"),
              ElementsAre("a 1", "b 1", "a 2 again", "b 2 again", "next"));
}

TEST(OutputLines, WhatNoScreenShowsIsTakenOut) {
  EXPECT_THAT(All(std::string("a\0b\0\n\0c\n", 8)), ElementsAre("ab", "c"));
  EXPECT_THAT(All("\xef\xbb\xbf"
                  "acc:\xe2\x80\x8b 0.5\n"),
              ElementsAre("acc: 0.5"));
}

// Moving the rest of the line for each of them would take tens of seconds.
TEST(OutputLines, ALongLineOfWhatNoScreenShowsCostsNoMoreThanItsLength) {
  std::string line;
  std::string shown;
  while (line.size() + 16 < OutputLines::kLineBytesMax) {
    line += std::string("\0\0a\xe2\x80\x8b", 6) + "b\xef\xbb\xbf";
    shown += "ab";
  }
  EXPECT_THAT(All(line + "\n" + std::string(OutputLines::kLineBytesMax, '\0') + "\nc\n"),
              ElementsAre(shown, "", "c"));
}

TEST(OutputLines, TheLineOfABarStandsWhenSomethingStandsBelowIt) {
  OutputLines lines;
  EXPECT_THAT(Shown(lines.Add("\r1/2\r2/2\n")), ElementsAre("(1/2)"));
  EXPECT_THAT(Shown(lines.Add("next\n")), ElementsAre("2/2", "next"));
  EXPECT_THAT(Shown(lines.Add("\r1/2\r2/2\n")), ElementsAre("(1/2)"));
  EXPECT_THAT(Shown(lines.Add("\r1/2")), IsEmpty());
  EXPECT_THAT(Shown(lines.Add("\r")), ElementsAre("2/2")) << "the next bar begins";
}

TEST(OutputLines, ReadsTheSameInWhateverPiecesTheOutputComes) {
  const std::string text =
      "a\r\n\router 0\n\rinner 1\x1b[A\n\rin\xc3\xbc\b2\x1b[A\router "
      "1\n\n\x1b[1mb\x1b[0m\bc\rd\n\x1b]8;;u\x1b\\e";
  const std::vector<std::string> whole = All(text);
  for (size_t size = 1; size < text.size(); ++size) EXPECT_EQ(All(text, size), whole) << size;
}

TEST(OutputLines, OfALineWithoutEndOnlyTheBeginningIsKept) {
  OutputLines lines;
  for (int i = 0; i < 300; ++i) EXPECT_THAT(lines.Add(std::string(10'000, 'x')), IsEmpty());
  const std::vector<OutputLine> all = lines.Add("\nb\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text.size(), OutputLines::kLineBytesMax);
  EXPECT_EQ(all[1].text, "b");
}

// "0.93" of "0.9312" would be another number.
TEST(OutputLines, ANumberAtTheLimitIsReadWholeOrNotAtAll) {
  const std::string head = std::string(OutputLines::kLineBytesMax - 9, 'x') + " acc=";
  for (const size_t piece : {size_t{7}, OutputLines::kLineBytesMax}) {
    for (const auto& [number, left] : {std::pair("0.93", "0.93"), {"0.9312", ""}}) {
      OutputLines lines;
      const std::string text = head + number + "\nb\n";
      std::vector<OutputLine> all;
      for (size_t i = 0; i < text.size(); i += piece) {
        for (OutputLine& line : lines.Add(std::string_view(text).substr(i, piece)))
          all.push_back(line);
      }
      ASSERT_EQ(all.size(), 2u);
      EXPECT_EQ(all[0].text.substr(head.size()), left) << number << " in pieces of " << piece;
      EXPECT_EQ(all[1].text, "b");
    }
  }
}

TEST(OutputLines, ManyOpenBarsEnd) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "\rbar " + std::to_string(i) + "\n";
  EXPECT_EQ(All(text).size(), 1'000u);
}

}  // namespace
}  // namespace tune
