// Tables, CSV and JSON of whatever texts the rows hold.
#include "tuner/cli/words/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "tests/tuner/answer.h"

namespace tune {
namespace {

using testing::HasSubstr;

TEST(RowPrinter, CutsTheWidestColumnsToATerminal) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kTable, 30, out);
  printer.Begin({"n", "text"});
  printer.Row({1, std::string(100, 'x')});
  printer.Row({22, "Brötchen 面包"});
  printer.End();
  EXPECT_EQ(out.str(), " n  text\n 1  xxxxxxxxxxxxxxxxxxxxxxxxx…\n22  Brötchen 面包\n");
  for (const std::string& line : Lines(out.str())) EXPECT_LE(DisplayWidth(line), 30u);
}

TEST(TextTable, AColumnThatWrapsGoesOnBelowAndAWholeOneIsNeverCut) {
  TextTable table({{"whole", Fit::kWhole}, {"text", Fit::kWrap, 6}, {"cut", Fit::kCut, 4}});
  table.Row({"0123456789", "one two three", "and more"});
  table.Row({"a", "面包面包面包", Value()});
  EXPECT_EQ(table.MinWidth(), 24u);
  std::ostringstream out;
  table.Print(24, out);
  EXPECT_EQ(out.str(),
            "whole       text    cut\n"
            "0123456789  one     and…\n"
            "            two\n"
            "            three\n"
            "a           面包面\n"
            "            包面包\n");
  std::ostringstream narrow;
  table.Print(5, narrow);
  EXPECT_THAT(narrow.str(), HasSubstr("0123456789"));
}

TEST(WrapToWidth, BreaksAtSpacesAndWithinLongWords) {
  using testing::ElementsAre;
  EXPECT_THAT(WrapToWidth("", 5), ElementsAre(""));
  EXPECT_THAT(WrapToWidth("one two", 7), ElementsAre("one two"));
  EXPECT_THAT(WrapToWidth("one two", 6), ElementsAre("one", "two"));
  EXPECT_THAT(WrapToWidth("abcdefgh i", 3), ElementsAre("abc", "def", "gh", "i"));
  EXPECT_THAT(WrapToWidth("a\n\nbc d", 2), ElementsAre("a", "", "bc", "d"));
}

TEST(RowPrinter, NothingThatATrialPrintedMovesTheCursor) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kTable, 0, out);
  printer.Begin({"error"});
  printer.Row({"\x1b[2Jboom\nand\tmore \xff\xc2\x9b"});
  printer.End();
  EXPECT_EQ(out.str(), "error\n\\x1b[2Jboom\\nand\\tmore ?\\x9b\n");
}

TEST(Printable, CharactersThatTurnTheOrderOfLettersAroundAreSeen) {
  EXPECT_EQ(Printable("a\u202eb\u2066c\u061cd\u200fe"), "a\\u202eb\\u2066c\\u061cd\\u200fe");
  EXPECT_EQ(Printable("zw\u200bx\ufeff\u2060\u00ad"), "zw\\u200bx\\ufeff\\u2060\\xad");
  EXPECT_EQ(Printable("שלום – ok\u2026"), "שלום – ok\u2026");
}

TEST(Printable, OfSeveralLinesTheNewlinesStay) {
  EXPECT_EQ(PrintableLines("a\x1b[2J\nb\n"), "a\\x1b[2J\nb\n");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(RowPrinter, CsvQuotesAsRfc4180Says) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kCsv, 0, out);
  printer.Begin({"a,b", "c"});
  printer.Row({"say \"hi\"\nthere", Value()});
  printer.Row({0.1, std::numeric_limits<double>::infinity()});
  printer.End();
  EXPECT_EQ(out.str(), "\"a,b\",c\n\"say \"\"hi\"\"\nthere\",\n0.1,inf\n");
}

TEST(RowPrinter, JsonIsValidWhateverTheTextsHold) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kJson, 0, out);
  printer.Begin({"na\"me", "x"});
  printer.Row({"\xff \x01 \"", std::nan("")});
  printer.Row({Value(Value::List{1, "a"}), int64_t{9'007'199'254'740'993}});
  printer.End();
  EXPECT_EQ(out.str(),
            "[\n{\"na\\\"me\":\"? \\u0001 "
            "\\\"\",\"x\":null},\n{\"na\\\"me\":[1,\"a\"],\"x\":9007199254740993}\n]\n");
}

TEST(OutputFormat, KnowsThreeNames) {
  EXPECT_EQ(*ParseOutputFormat("json"), OutputFormat::kJson);
  EXPECT_THAT(ParseOutputFormat("xml").status().message(), HasSubstr("table, csv and json"));
}

}  // namespace
}  // namespace tune
