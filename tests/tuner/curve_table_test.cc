// A table of recorded curves is read as it is meant, or refused with the place that is wrong.
#include "tuner/simulate/curve_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "core/json.h"
#include "core/limits.h"
#include "tuner/simulate/csv_reader.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

SearchSpace SpaceOf(const std::string& yaml) {
  const auto document = ParseYaml(yaml);
  EXPECT_TRUE(document.ok()) << document.status().message();
  auto space = SearchSpace::Parse(*document);
  EXPECT_TRUE(space.ok()) << space.status().message();
  return *std::move(space);
}

constexpr char kSpace[] =
    "{lr: {uniform: [0, 1]}, optimizer: {kind: {choice: [adam, sgd]}}, width: 4}";

Result<RecordedCurves> Read(const std::string& text, const std::string& space = kSpace) {
  std::istringstream in(text);
  return ReadCurveTable(in, "curves.csv", SpaceOf(space), {"loss"});
}

std::string ErrorOf(const std::string& text, const std::string& space = kSpace) {
  const auto curves = Read(text, space);
  return curves.ok() ? "read" : curves.status().message();
}

std::string Flat(const RecordedCurve& curve) { return ToJson(curve.configuration.ToNested()); }

TEST(CurveTable, AConfigurationsLinesAreACurve) {
  const auto curves = Read(
      "lr,optimizer/kind,training_iteration,loss,seconds\n"
      "0.5,adam,1,0.9,2\n"
      "0.25,sgd,1,0.8,3\n"
      "0.5,adam,3,0.7,4\n");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  ASSERT_EQ(curves->curves.size(), 2u);
  EXPECT_THAT(curves->metrics, ElementsAre("loss"));
  const RecordedCurve& first = curves->curves[0];
  EXPECT_EQ(Flat(first), R"({"lr":0.5,"optimizer":{"kind":"adam"},"width":4})");
  EXPECT_THAT(first.iterations, ElementsAre(1, 3));
  EXPECT_THAT(first.seconds, ElementsAre(2, 4));
  EXPECT_THAT(first.values, ElementsAre(0.9, 0.7));
  EXPECT_THAT(curves->curves[1].iterations, ElementsAre(1));
}

TEST(CurveTable, ATrialsLinesAreACurveWhereThereIsAColumnOfTrials) {
  const auto curves = Read(
      "trial,lr,optimizer/kind,iteration,loss\n"
      "a,0.5,adam,1,0.9\n"
      "b,0.5,adam,1,0.8\n"
      "a,0.5,adam,2,0.7\n");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  ASSERT_EQ(curves->curves.size(), 2u);
  EXPECT_THAT(curves->curves[0].values, ElementsAre(0.9, 0.7));
  EXPECT_THAT(curves->curves[0].seconds, ElementsAre(1, 1));
}

TEST(CurveTable, OtherColumnsAreMetricsAndAnEmptyOneWasNotReported) {
  const auto curves = Read(
      "lr,optimizer/kind,iteration,loss,accuracy\n"
      "0.5,adam,1,,0.1\n"
      "0.5,adam,2,nan,0.1\n");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_THAT(curves->metrics, ElementsAre("loss", "accuracy"));
  EXPECT_TRUE(std::isnan(curves->curves[0].values[2]));
  EXPECT_THAT(curves->curves[0].was_reported, ElementsAre(false, true, true, true));
  EXPECT_EQ(curves->curves[0].values[1], 0.1);
}

TEST(CurveTable, ValuesAreWhatTheSpaceWouldDraw) {
  // 1 of a uniform domain is 1.0, 2.0 of integers is 2, "3" of texts stays a text.
  const auto curves = Read("u,i,t,iteration,loss\n0,2.0,3,1,1\n",
                           "{u: {uniform: [0, 1]}, i: {randint: [0, 9]}, t: {choice: ['3', x]}}");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(Flat(curves->curves[0]), R"({"u":0.0,"i":2,"t":"3"})");
}

// Where the values lie closer together than doubles of [0, 1] can tell.
TEST(CurveTable, ValuesAreNotMovedToTheirNeighbours) {
  const auto curves = Read("n,q,iteration,loss\n4611686018427387901,8.5,1,1\n",
                           "{n: {randint: [0, 4611686018427387904]}, q: {qrandn: [0, 1, 0.5]}}");
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(Flat(curves->curves[0]), R"({"n":4611686018427387901,"q":8.5})");
}

TEST(CurveTable, AParameterThatDoesNotExistUnderItsConditionHasAnEmptyCell) {
  constexpr char kConditional[] =
      "{kind: {choice: [adam, sgd]}, momentum: {uniform: [0, 1], when: {kind: sgd}}}";
  const auto curves = Read("kind,momentum,iteration,loss\nsgd,0.5,1,1\nadam,,1,2\n", kConditional);
  ASSERT_TRUE(curves.ok()) << curves.status().message();
  EXPECT_EQ(Flat(curves->curves[0]), R"({"kind":"sgd","momentum":0.5})");
  EXPECT_EQ(Flat(curves->curves[1]), R"({"kind":"adam"})");
  EXPECT_THAT(ErrorOf("kind,momentum,iteration,loss\nsgd,,1,1\n", kConditional),
              StartsWith("curves.csv:2:1: momentum: has no value"));
}

TEST(CurveTable, SaysWhichColumnIsMissing) {
  EXPECT_EQ(ErrorOf("lr,iteration,loss\n"),
            "curves.csv:1:1: there is no column 'optimizer/kind', a parameter of the space; known "
            "are lr, iteration, loss");
  EXPECT_THAT(ErrorOf("Lr,optimizer/kind,iteration,loss\n"),
              AllOf(HasSubstr("no column 'lr'"), HasSubstr("did you mean 'Lr'?")));
  EXPECT_THAT(ErrorOf("lr,optimizer/kind,loss\n"), HasSubstr("no column 'training_iteration'"));
  EXPECT_THAT(ErrorOf("lr,optimizer/kind,iteration\n"),
              HasSubstr("no column 'loss', a metric that the sweep needs"));
  EXPECT_EQ(ErrorOf(""), "curves.csv: is empty; expected a line of the columns' names");
  EXPECT_THAT(ErrorOf("lr,optimizer/kind,iteration,loss\n\n"), HasSubstr("there is no line"));
}

TEST(CurveTable, SaysWhereACellIsWrong) {
  const std::string head = "lr,optimizer/kind,iteration,loss,seconds\n";
  EXPECT_THAT(
      ErrorOf(head + "0.5,adam,1,inf,1\n"),
      StartsWith("curves.csv:2:12: loss: read 'inf', expected a finite number, nan or nothing"));
  EXPECT_THAT(ErrorOf(head + "0.5,adam,1,0.5,-1\n"),
              StartsWith("curves.csv:2:16: seconds: read '-1', expected a number from 0"));
  EXPECT_THAT(ErrorOf(head + "0.5,adam,0,0.5,1\n"),
              StartsWith("curves.csv:2:10: training_iteration: read '0', expected an integer"));
  EXPECT_EQ(ErrorOf(head + "0.5,adam,1,0.5,1\n5,adam,1,0.5,1\n"),
            "curves.csv:3:1: lr: read 5, which the space's uniform does not give");
  EXPECT_THAT(ErrorOf(head + "0.5,adamw,1,0.5,1\n"),
              StartsWith("curves.csv:2:5: optimizer/kind: read 'adamw'"));
  EXPECT_THAT(ErrorOf(head + ",adam,1,0.5,1\n"), StartsWith("curves.csv:2:1: lr: has no value"));
  EXPECT_THAT(ErrorOf(head + "0.5,adam,1,0.5\n"),
              StartsWith("curves.csv:2:12: a line of 4 cells, expected 5"));
}

TEST(CurveTable, RefusesIterationsThatDoNotRise) {
  EXPECT_THAT(ErrorOf("lr,optimizer/kind,iteration,loss\n0.5,adam,2,1\n0.5,adam,2,1\n"),
              StartsWith("curves.csv:3:10: training_iteration: read '2', expected more than 2"));
}

TEST(CurveTable, RefusesATrialOfTwoConfigurations) {
  EXPECT_THAT(ErrorOf("trial,lr,optimizer/kind,iteration,loss\na,0.5,adam,1,1\na,0.5,sgd,2,1\n"),
              StartsWith("curves.csv:3:1: trial: read 'a', expected another trial"));
}

TEST(CurveTable, RefusesAConstantOfAnotherValue) {
  EXPECT_THAT(ErrorOf("lr,optimizer/kind,width,iteration,loss\n0.5,adam,8,1,1\n"),
              StartsWith("curves.csv:2:10: width: read 8, but the space has 4"));
}

TEST(CurveTable, RefusesColumnsThatAreThereTwice) {
  EXPECT_THAT(ErrorOf("lr,lr\n"), StartsWith("curves.csv:1:4: a second column 'lr'"));
  EXPECT_THAT(ErrorOf("iteration,training_iteration\n"),
              StartsWith("curves.csv:1:11: a second column of iterations"));
  EXPECT_THAT(ErrorOf("lr,,loss\n"), StartsWith("curves.csv:1:4: a column without a name"));
}

// ---- CSV

std::vector<std::vector<std::string>> Records(const std::string& text,
                                              std::string* error = nullptr) {
  std::istringstream in(text);
  CsvReader reader(in);
  std::vector<std::vector<std::string>> records;
  std::vector<CsvCell> cells;
  for (;;) {
    const Result<bool> more = reader.Next(cells);
    if (!more.ok() && error != nullptr) *error = more.status().message();
    EXPECT_TRUE(more.ok() || error != nullptr) << more.status().message();
    if (!more.ok() || !*more) return records;
    records.emplace_back();
    for (const CsvCell& cell : cells) records.back().push_back(cell.text);
  }
}

std::string CsvError(const std::string& text) {
  std::string error;
  Records(text, &error);
  return error;
}

TEST(CsvReader, ReadsQuotedCellsAndEveryLineEnd) {
  EXPECT_THAT(
      Records("\xEF\xBB\xBF"
              "a,\"b,\"\"c\"\"\nd\"\r\n\r\n,\n\"\",x\rx"),
      ElementsAre(ElementsAre("a", "b,\"c\"\nd"), ElementsAre("", ""), ElementsAre("", "x\rx")));
}

TEST(CsvReader, SaysWhereATextIsNoCsv) {
  EXPECT_EQ(CsvError("a\nb,\"c"), "2:3: a quoted cell that does not end");
  EXPECT_EQ(CsvError("a\n\"b\"c"),
            "2:4: more after a quoted cell; expected a comma or the end of the line");
  EXPECT_EQ(CsvError("ab\"c\""), "1:3: a quote within a cell that does not begin with one");
  EXPECT_EQ(CsvError(std::string("a,\0b", 4)), "1:3: a NUL byte; expected text");
}

TEST(CsvReader, HoldsToItsLimits) {
  EXPECT_EQ(Records(std::string(limits::kCsvCellBytesMax, 'x')).size(), 1u);
  EXPECT_THAT(CsvError(std::string(limits::kCsvCellBytesMax + 1, 'x')),
              StartsWith("1:1: a cell of more than"));
  EXPECT_EQ(Records(std::string(limits::kCsvCellsMax - 1, ',')).size(), 1u);
  EXPECT_THAT(CsvError(std::string(limits::kCsvCellsMax, ',')), HasSubstr("cells in a line"));
}

}  // namespace
}  // namespace tune
