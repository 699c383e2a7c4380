#include "tuner/spec_difference.h"

#include <gtest/gtest.h>

#include "tuner/spec_reader.h"

namespace tune {
namespace {

ExperimentSpec Read(const std::string& text) {
  const auto document = ParseYaml("trainable: {curve: {value: \"1\"}}\n" + text);
  EXPECT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", true);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *spec;
}

constexpr char kSpec[] =
    "metric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}, opt: {lr: 0.1, kind: {choice: [a, "
    "b]}}}\n";

using Lines = std::vector<std::string>;

TEST(SpecDifference, TheSameIsTheSameWhateverElseTheFileSays) {
  EXPECT_EQ(DescribeSpecDifferences(Read(kSpec), Read(kSpec)), Lines{});
  EXPECT_EQ(DescribeSpecDifferences(
                Read(kSpec), Read(std::string(kSpec) +
                                  "samples: 9\nseed: 4\nname: other\nlimits: {max_concurrent: 2}\n"
                                  "scheduler: fifo\nsearch: {algorithm: random}\n")),
            Lines{});
}

// After them a report counts or does not.
TEST(SpecDifference, ConstraintsOnMetricsAreTheSweeps) {
  const std::string one = std::string(kSpec) + "metric_constraints: ms <= 20\n";
  EXPECT_EQ(DescribeSpecDifferences(Read(one),
                                    Read(std::string(kSpec) + "metric_constraints: [ms <= 20]\n")),
            Lines{});
  EXPECT_EQ(DescribeSpecDifferences(Read(one),
                                    Read(std::string(kSpec) + "metric_constraints: [ms <= 30]\n")),
            Lines{"metric_constraints[0]: \"ms <= 20\" is stored, the file has \"ms <= 30\""});
  EXPECT_EQ(DescribeSpecDifferences(Read(kSpec), Read(one)),
            Lines{"metric_constraints: nothing is stored, the file has [\"ms <= 20\"]"});
}

TEST(SpecDifference, LimitsOnResultsAreTheSweeps) {
  const std::string one = std::string(kSpec) + "feasible: ms <= 20\n";
  EXPECT_EQ(DescribeSpecDifferences(Read(one), Read(std::string(kSpec) + "feasible: [ms <= 20]\n")),
            Lines{});
  EXPECT_EQ(DescribeSpecDifferences(Read(one), Read(std::string(kSpec) + "feasible: [ms <= 30]\n")),
            Lines{"feasible[0]: \"ms <= 20\" is stored, the file has \"ms <= 30\""});
  EXPECT_EQ(DescribeSpecDifferences(Read(one), Read(kSpec)),
            Lines{"feasible: [\"ms <= 20\"] is stored, the file has nothing"});
}

TEST(SpecDifference, EachPlaceIsALine) {
  const ExperimentSpec other = Read(
      "metric: error\nmode: max\nspace: {x: {randint: [0, 2]}, opt: {kind: {choice: [a]}, "
      "wd: 1}}\nscheduler: {asha: {max_t: 9}}\nsearch: {algorithm: grid}\n");
  EXPECT_EQ(DescribeSpecDifferences(Read(kSpec), other),
            (Lines{"space.x.uniform: [0,1] is stored, the file has nothing",
                   "space.x.randint: nothing is stored, the file has [0,2]",
                   "space.opt.lr: 0.1 is stored, the file has nothing",
                   "space.opt.kind.choice[1]: \"b\" is stored, the file has nothing",
                   "space.opt.wd: nothing is stored, the file has 1",
                   "metric: \"loss\" is stored, the file has \"error\"",
                   "mode: \"min\" is stored, the file has \"max\"",
                   "search.algorithm: \"random\" is stored, the file has \"grid\"",
                   "scheduler: \"fifo\" is stored, the file has {\"asha\":{\"max_t\":9}}"}));
}

TEST(SpecDifference, TheOrderOfParametersCounts) {
  EXPECT_EQ(DescribeSpecDifferences(
                Read("metric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}, y: 1}\n"),
                Read("metric: loss\nmode: min\nspace: {y: 1, x: {uniform: [0, 1]}}\n")),
            Lines{"space: has the same entries in another order"});
}

}  // namespace
}  // namespace tune
