#include "tuner/metric_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

MetricScores Make(const Value::List& metrics, const Value& constraints = Value()) {
  Result<MetricScores> scores = MetricScores::Make(metrics, constraints);
  EXPECT_TRUE(scores.ok()) << scores.status().message();
  return *scores;
}

TEST(MetricScores, ANameIsAddedToByNothing) {
  const MetricScores scores = Make({"val/f1-score"});
  EXPECT_THAT(scores.reported_names(), ElementsAre("val/f1-score"));
  EXPECT_FALSE(scores.has_expressions());
  const Metrics reported = {{"val/f1-score", 0.5}};
  EXPECT_EQ(scores.Scored(reported), reported);
}

TEST(MetricScores, AnExpressionIsKeptBesideWhatItIsMadeOf) {
  const char* const score = "power * 0.4 + delay * 0.6";
  const MetricScores scores = Make({score});
  EXPECT_THAT(scores.reported_names(), ElementsAre("power", "delay"));
  const Metrics scored = scores.Scored({{"power", 10}, {"delay", 5}});
  EXPECT_THAT(scored, ElementsAre(Pair("power", 10), Pair("delay", 5), Pair(score, 7)));
  EXPECT_EQ(FindObjective(scored, score), 7);
}

TEST(MetricScores, WhereAMetricIsMissingThereIsNoScore) {
  const MetricScores scores = Make({"a + b"});
  EXPECT_EQ(FindObjective(scores.Scored({{"a", 1}}), "a + b"), std::nullopt);
  EXPECT_EQ(FindObjective(scores.Scored({{"a", 1}, {"b", std::nan("")}}), "a + b"), std::nullopt);
}

TEST(MetricScores, ANestedNameIsWrittenWithAPoint) {
  const MetricScores scores = Make({"val.loss * 2"});
  EXPECT_EQ(FindObjective(scores.Scored({{"val/loss", 3}}), "val.loss * 2"), 6);
  EXPECT_EQ(FindObjective(scores.Scored({{"val.loss", 3}}), "val.loss * 2"), 6);
}

TEST(MetricScores, AnInfeasibleReportKeepsItsMetricsAndHasNoValue) {
  const MetricScores scores = Make({"delay"}, Value::List{"area <= 100", "slack >= 0"});
  const Metrics good = scores.Scored({{"delay", 2}, {"area", 100}, {"slack", 0}});
  EXPECT_EQ(FindObjective(good, "delay"), 2);
  EXPECT_EQ(FindMetric(good, kInfeasibleName), 0);
  const Metrics bad = scores.Scored({{"delay", 1}, {"area", 101}, {"slack", 0}});
  EXPECT_EQ(FindObjective(bad, "delay"), std::nullopt);
  EXPECT_EQ(FindMetric(bad, "delay"), 1);
  EXPECT_EQ(FindMetric(bad, kInfeasibleName), 1);
}

TEST(MetricScores, AProgramsOwnNumberNamedInfeasibleDecidesNothing) {
  const Metrics kept = Make({"delay"}).Scored({{"delay", 2}, {"infeasible", 3}});
  EXPECT_EQ(FindObjective(kept, "delay"), 2);
  EXPECT_EQ(FindMetric(kept, kReportedInfeasibleName), 3);
  const MetricScores constrained = Make({"delay"}, "area <= 100");
  const Metrics good = constrained.Scored({{"delay", 2}, {"area", 5}, {"infeasible", 1}});
  EXPECT_EQ(FindObjective(good, "delay"), 2);
  EXPECT_EQ(FindMetric(good, kInfeasibleName), 0);
}

TEST(MetricScores, AConstraintOnWhatIsNotReportedIsNotKnownToHoldAndOnNaNDoesNotHold) {
  const MetricScores scores = Make({"delay"}, "area <= 100");
  EXPECT_THAT(scores.constrained_names(), ElementsAre("area"));
  const Metrics unknown = scores.Scored({{"delay", 2}});
  EXPECT_EQ(FindObjective(unknown, "delay"), std::nullopt) << "it is never the best";
  EXPECT_EQ(FindProvisional(unknown, "delay"), 2) << "the scheduler goes on with it";
  const Metrics broken = scores.Scored({{"delay", 2}, {"area", std::nan("")}});
  EXPECT_EQ(FindObjective(broken, "delay"), std::nullopt);
  EXPECT_EQ(FindProvisional(broken, "delay"), std::nullopt);
}

TEST(MetricScores, WhatCannotBeUsedIsTold) {
  const auto error = [](const Value& metric, const Value& constraint) {
    return MetricScores::Make({metric}, constraint).status().message();
  };
  EXPECT_THAT(error("infeasible", Value()), HasSubstr("report it under another name"));
  EXPECT_THAT(error("a +", Value()), HasSubstr("metric: column 4 of 'a +'"));
  EXPECT_THAT(error("1 + 1", Value()), HasSubstr("no metric is named in '1 + 1'"));
  EXPECT_THAT(error("(a == 'x')", Value()), HasSubstr("'a' cannot be compared with a text"));
  EXPECT_THAT(error("a", 7), HasSubstr("metric_constraints: read 7, expected an expression"));
}

}  // namespace
}  // namespace tune
