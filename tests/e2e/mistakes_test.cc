// A hundred mistakes in space files and scripts (tests/golden/mistakes.yaml): each is told in one
// clear line, or what was printed is read right.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tuner/spec_reader.h"

namespace tune::testing {
namespace {

std::vector<Value> Table(const char* part) {
  std::ostringstream text;
  text << std::ifstream(TUNE_MISTAKES).rdbuf();
  const Result<Value> table = ParseYaml(text.str());
  TUNE_CHECK(table.ok());
  return table->Find(part)->AsList();
}

std::string NameOf(const ::testing::TestParamInfo<Value>& info) {
  return info.param.Find("name")->AsString();
}

std::vector<std::string> Texts(const Value& map, const char* key) {
  std::vector<std::string> texts;
  const Value* const list = map.Find(key);
  if (list == nullptr) return texts;
  for (const Value& text : list->AsList()) texts.push_back(text.AsString());
  return texts;
}

class Mistakes : public ::testing::TestWithParam<Value> {
 protected:
  void WriteScript(const std::string& text) {
    folder_.Write("trial.sh", "#!/bin/sh\n" + text + "\n");
    chmod((folder_ / "trial.sh").c_str(), 0755);
  }
  void ExpectWords(const std::string& text) {
    for (const std::string& words : Texts(GetParam(), "says")) {
      EXPECT_NE(text.find(words), std::string::npos) << "expected '" << words << "' in: " << text;
    }
  }

  TestFolder folder_;
};

class SpaceMistakes : public Mistakes {};

TEST_P(SpaceMistakes, AreToldInOneLineBeforeAnythingRuns) {
  WriteScript("echo 'acc: 0.5'");
  folder_.Write("plain.py", "print('acc: 0.5')\n");
  const std::string space = folder_.Write("space.yaml", GetParam().Find("space")->AsString());
  const ProgramResult result = RunTune(folder_, {"run", space});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  ExpectWords(result.err);
  EXPECT_EQ(folder_.Names(), (std::vector<std::string>{"plain.py", "space.yaml", "trial.sh"}));
}

INSTANTIATE_TEST_SUITE_P(All, SpaceMistakes, ::testing::ValuesIn(Table("spaces")), NameOf);

class ScriptMistakes : public Mistakes {};

TEST_P(ScriptMistakes, AreToldOrWhatIsPrintedIsReadRight) {
  WriteScript(GetParam().Find("script")->AsString());
  const Value* const more = GetParam().Find("trainable");
  const std::string space = folder_.Write(
      "space.yaml", "trainable: {command: [./trial.sh, \"{x}\"]" +
                        (more == nullptr ? "" : ", " + more->AsString()) +
                        "}\nmetric: acc\nmode: max\nsamples: 3\nspace: {x: {uniform: [0, 1]}}\n");
  const ProgramResult result = RunTune(folder_, {"run", space, "--cpus", "1"});
  const std::vector<std::string> reports = Texts(GetParam(), "reports");
  EXPECT_EQ(result.exit_status, reports.empty() ? 3 : 0) << result.err;
  const auto errors =
      Query(folder_, "select distinct error from attempts where error is not null and error != ''");
  if (reports.empty()) {
    ASSERT_FALSE(errors.empty()) << result.err;
    ExpectWords(errors.front());
    EXPECT_EQ(errors.front().find('\n'), std::string::npos);
    ExpectWords(result.err + result.out);
    return;
  }
  EXPECT_EQ(Query(folder_,
                  "select iteration, value from reports join trials on trials.id = trial where "
                  "trials.number = 0 order by iteration"),
            reports);
}

INSTANTIATE_TEST_SUITE_P(All, ScriptMistakes, ::testing::ValuesIn(Table("scripts")), NameOf);

TEST(MistakesTable, HasAHundred) {
  EXPECT_GE(Table("spaces").size() + Table("scripts").size(), 100u);
}

}  // namespace
}  // namespace tune::testing
