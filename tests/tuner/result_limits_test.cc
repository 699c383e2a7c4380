// Limits on results (tuner/result_limits.h): what they may be, and what they make of reports.
#include "tuner/result_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "core/standing.h"
#include "search/space.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<SpaceParameter>& Parameters() {
  static const auto space = SearchSpace::Parse(*ParseJson(
      R"({"width": {"randint": [1, 99]}, "optimizer": {"kind": {"choice": ["adam", "sgd"]}}})"));
  return space->parameters();
}

Result<ResultLimits> TryParse(const std::string& json) {
  return ResultLimits::Parse(*ParseJson(json), Parameters());
}

ResultLimits Parse(const std::string& json) {
  Result<ResultLimits> limits = TryParse(json);
  EXPECT_TRUE(limits.ok()) << limits.status().message();
  return *std::move(limits);
}

std::string ErrorOf(const std::string& json) {
  const Result<ResultLimits> limits = TryParse(json);
  EXPECT_FALSE(limits.ok()) << json;
  return limits.ok() ? "" : limits.status().message();
}

Configuration Of(int64_t width, const std::string& kind = "adam") {
  Configuration configuration;
  configuration.Set("width", Value(width));
  configuration.Set("optimizer/kind", Value(kind));
  return configuration;
}

TEST(ResultLimits, TellMetricsFromParameters) {
  const ResultLimits limits =
      Parse(R"(["width * energy <= 100", "val.loss < 2", "optimizer.kind == 'adam' or loss < 1"])");
  EXPECT_THAT(limits.metric_names(), ElementsAre("energy", "val/loss", "loss"));
  EXPECT_THAT(limits.parameter_names(), ElementsAre("width", "optimizer/kind"));
}

TEST(ResultLimits, JudgeAReportByItsMetricsAndItsConfiguration) {
  const ResultLimits limits = Parse(R"(["width * energy <= 100", "loss <= 2"])");
  const auto violation = [&](double energy, double loss) {
    return FindViolation(limits.Judged({{"energy", energy}, {"loss", loss}}, Of(10)));
  };
  EXPECT_EQ(violation(10, 2), 0);
  EXPECT_DOUBLE_EQ(*violation(15, 3), 0.5 + 0.5);
  EXPECT_EQ(violation(std::nan(""), 1), kViolationUnknown);
  EXPECT_THAT(limits.Margins({{"energy", 15}, {"loss", 1}}, Of(10)), ElementsAre(0.5, -0.5));
}

TEST(ResultLimits, ANaNIsInfeasibleWhateverElseALimitSays) {
  const ResultLimits limits = Parse(R"("energy <= 20 or loss < 100")");
  const Metrics metrics = {{"energy", std::nan("")}, {"loss", 1}};
  EXPECT_EQ(FindViolation(limits.Judged(metrics, Of(1))), kViolationUnknown);
  EXPECT_THAT(limits.Margins(metrics, Of(1)), ElementsAre(Metric()));
}

TEST(ResultLimits, SayNothingWhileAMetricIsMissing) {
  const ResultLimits limits = Parse(R"("loss <= 2")");
  EXPECT_EQ(FindViolation(limits.Judged({{"acc", 1}}, Of(1))), std::nullopt);
  EXPECT_THAT(limits.Margins({{"acc", 1}}, Of(1)), ElementsAre(Metric()));
}

TEST(ResultLimits, KeepAProgramsOwnNumberNamedViolationApart) {
  const Metrics judged = Parse(R"("loss <= 2")").Judged({{"violation", 7}, {"loss", 1}}, Of(1));
  EXPECT_EQ(FindViolation(judged), 0);
  EXPECT_EQ(FindMetric(judged, kReportedViolationName), 7);
}

TEST(ResultLimits, OnAParameterThatTheConfigurationLacksAreKept) {
  Configuration without;
  without.Set("width", Value(int64_t{3}));
  const ResultLimits limits = Parse(R"("optimizer.kind == 'adam' and loss <= 2")");
  EXPECT_EQ(FindViolation(limits.Judged({{"loss", 5}}, without)), 0);
}

TEST(ResultLimits, AreRefusedWithTheColumnAndTheRemedy) {
  EXPECT_THAT(ErrorOf(R"(["loss <= "])"), HasSubstr("feasible: column 9 of 'loss <= '"));
  EXPECT_THAT(ErrorOf("[3]"), HasSubstr("feasible: read 3, expected an expression such as"));
  EXPECT_THAT(ErrorOf(R"(["width <= 3"])"),
              HasSubstr("'width <= 3' names parameters alone; what a configuration has to keep "
                        "stands under `constraints`"));
  for (const char* const bare : {"loss", "loss - acc", "abs(loss)", "3"}) {
    EXPECT_THAT(ErrorOf("[\"" + std::string(bare) + "\"]"),
                HasSubstr("'" + std::string(bare) + "' compares nothing; expected such as"));
  }
  EXPECT_THAT(ErrorOf(R"(["1 < 2"])"), HasSubstr("'1 < 2' names no metric"));
  EXPECT_THAT(ErrorOf(R"(["optimizer.knd == 'adam' and loss < 1"])"),
              HasSubstr("column 1 of 'optimizer.knd == 'adam' and loss < 1': 'optimizer.knd' is no "
                        "parameter, and a metric is a number, which cannot be compared with a "
                        "text; did you mean 'optimizer.kind'?"));
  EXPECT_THAT(ErrorOf(R"(["optimizer.kind == 'adan' and loss < 1"])"),
              HasSubstr("'optimizer.kind' is never 'adan'; did you mean 'adam'?"));
  EXPECT_THAT(ErrorOf(R"(["optimizer.kind < loss"])"), HasSubstr("which is no number"));
}

TEST(ResultLimits, ThatContradictEachOtherAreRefused) {
  EXPECT_THAT(ErrorOf(R"(["loss <= 2", "acc > 0", "loss >= 3"])"),
              HasSubstr("feasible: read 'loss >= 3' beside 'loss <= 2': no value of 'loss' keeps "
                        "both; change one of them"));
  EXPECT_THAT(ErrorOf(R"(["loss < 2", "2 <= loss"])"), HasSubstr("keeps both"));
  EXPECT_TRUE(TryParse(R"(["loss <= 2", "loss >= 2"])").ok());
  EXPECT_TRUE(TryParse(R"(["loss <= 2", "acc >= 3"])").ok());
}

TEST(ResultLimits, AreToldToAPersonOneByOne) {
  const ResultLimits limits = Parse(R"(["width * energy <= 100", "loss <= 2"])");
  const auto standings = limits.Standings({{"energy", 15}, {"loss", 1}}, Of(10));
  ASSERT_EQ(standings.size(), 2u);
  EXPECT_FALSE(standings[0].is_kept);
  EXPECT_EQ(standings[0].numbers, "width = 10, energy = 15");
  EXPECT_TRUE(standings[1].is_kept);
  EXPECT_EQ(DescribeViolation(0.5), "infeasible: it violates the limits by 0.5");
  EXPECT_EQ(DescribeViolation(kViolationUnknown),
            "infeasible: a metric that a limit names was NaN or not reported, or a limit came to "
            "no number");
  EXPECT_EQ(NoTrialIsFeasible(limits.texts(), 0.5),
            "no trial is feasible: none kept width * energy <= 100 and loss <= 2; the best is the "
            "one that violates them least, by 0.5");
  EXPECT_EQ(NotEachRunIsFeasible({"ms <= 20"}, 1, 2, 0.05),
            "the best configuration kept ms <= 20 in 1 of 2 runs; its runs violate the limits by "
            "0.05 in the mean");
  EXPECT_EQ(NotEachRunIsFeasible({"ms <= 20"}, 0, 1, kViolationUnknown),
            "the best configuration kept ms <= 20 in none of 1 run; by how much is not known of "
            "all of them, because a metric of a limit was NaN or not reported, or a limit came to "
            "no number");
}

}  // namespace
}  // namespace tune
