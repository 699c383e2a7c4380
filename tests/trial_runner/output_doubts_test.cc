// Whole outputs of programs (tests/golden/output_doubts.yaml): ordinary logs are read without a
// doubt, and values of several things are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "trial_runner/output_metrics.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

std::vector<Value> Table(const char* part) {
  std::ostringstream text;
  text << std::ifstream(TUNE_OUTPUT_DOUBTS).rdbuf();
  const Result<Value> table = ParseYaml(text.str());
  TUNE_CHECK(table.ok());
  return table->Find(part)->AsList();
}

std::string NameOf(const testing::TestParamInfo<Value>& info) {
  return info.param.Find("name")->AsString();
}

class OutputDoubts : public testing::TestWithParam<Value> {
 protected:
  // All that a person is told, once a report and at the end.
  std::vector<std::string> Notes() {
    OutputRules rules;
    Result<OutputPattern> pattern = OutputPattern::Make("m", GetParam().Find("regex")->AsString());
    TUNE_CHECK(pattern.ok());
    rules.patterns.push_back(*std::move(pattern));
    OutputMetrics metrics(std::move(rules), {"m"});
    std::vector<OutputReport> reports =
        metrics.Read(OutputStream::kStdout, GetParam().Find("log")->AsString());
    for (OutputReport& report : metrics.Finish()) reports.push_back(std::move(report));
    EXPECT_EQ(metrics.refusal(), std::nullopt);
    report_count_ = reports.size();
    std::vector<std::string> notes;
    for (const OutputReport& report : reports) {
      if (!report.note.empty()) notes.push_back(report.note);
    }
    if (const std::string note = metrics.NoteAtEnd(); !note.empty()) notes.push_back(note);
    return notes;
  }

  size_t report_count_ = 0;
};

class OrdinaryLogs : public OutputDoubts {};

TEST_P(OrdinaryLogs, AreReadWithoutADoubt) {
  EXPECT_THAT(Notes(), testing::IsEmpty());
  EXPECT_GE(report_count_, 3u) << "the expression finds too little";
}

INSTANTIATE_TEST_SUITE_P(All, OrdinaryLogs, testing::ValuesIn(Table("ordinary")), NameOf);

class DoubtfulLogs : public OutputDoubts {};

TEST_P(DoubtfulLogs, AreToldOnce) {
  EXPECT_THAT(Notes(),
              testing::ElementsAre(testing::HasSubstr(GetParam().Find("says")->AsString())));
}

INSTANTIATE_TEST_SUITE_P(All, DoubtfulLogs, testing::ValuesIn(Table("doubtful")), NameOf);

}  // namespace
}  // namespace tune
