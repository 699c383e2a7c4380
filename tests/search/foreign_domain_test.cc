// Domains of other tools are told how they are written here.
#include "search/foreign_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/json.h"
#include "search/space.h"

namespace tune {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& json) {
  const Result<Value> space = ParseJson(json);
  EXPECT_TRUE(space.ok()) << json << ": " << space.status().message();
  return RefuseForeignDomains(*space).message();
}

TEST(RefuseForeignDomains, SaysHowEachIsWrittenHere) {
  const std::pair<const char*, const char*> forms[] = {
      {R"({"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true}})", "{loguniform: [1e-05, 0.1]}"},
      {R"({"lr": {"type": "float", "low": 0, "high": 1}})", "{uniform: [0.0, 1.0]}"},
      {R"({"n": {"type": "int", "low": 1, "high": 8}})", "{randint: [1, 9]}"},
      {R"({"n": {"low": 1, "high": 8, "log": true}})", "{lograndint: [1, 9]}"},
      {R"({"k": {"type": "categorical", "choices": ["a", "b"]}})", "{choice: [\"a\", \"b\"]}"},
      {R"({"lr": {"type": "range", "bounds": [0.001, 0.1], "log_scale": true, "value_type": "float"}})",
       "{loguniform: [0.001, 0.1]}"},
      {R"({"lr": {"min": 0.001, "max": 0.1}})", "{uniform: [0.001, 0.1]}"},
      {R"({"lr": {"distribution": "log_uniform_values", "min": 0.001, "max": 0.1}})",
       "{loguniform: [0.001, 0.1]}"},
      {R"({"b": {"values": [16, 32]}})", "{choice: [16, 32]}"},
      {R"({"b": {"value": 16}})", "16, a constant"},
      {R"({"lr": {"_type": "loguniform", "_value": [0.001, 0.1]}})", "{loguniform: [0.001, 0.1]}"},
      {R"({"b": {"_type": "choice", "_value": [16, 32]}})", "{choice: [16, 32]}"},
      {R"({"lr": {"min_value": 0.001, "max_value": 0.1, "sampling": "log"}})", "{loguniform: "},
      {R"({"lr": {"parameterType": "double", "feasibleSpace": {"min": "0.01", "max": "0.03"}}})",
       "{uniform: [0.01, 0.03]}"},
      {R"({"lr": "tune.loguniform(1e-5, 1e-1)"})", "{loguniform: [1e-5, 1e-1]}"},
      {R"({"b": "tune.choice([16, 32])"})", "{choice: [16, 32]}"},
      {R"({"lr": "hp.uniform(0, 1)"})", "{uniform: [0, 1]}"},
      {R"({"b": [16, 32]})", "{choice: [16, 32]}, or {const: [16, 32]}"},
      {R"({"optimizer": {"lr": {"min": 0.001, "max": 0.1}, "name": "sgd"}})", "optimizer/lr: read"},
      {R"({"optimizer": {"sizes": [1, 2], "kind": "sgd"}})", "optimizer/sizes: read a list"},
  };
  for (const auto& [json, own] : forms) EXPECT_THAT(Refusal(json), HasSubstr(own)) << json;
}

TEST(RefuseForeignDomains, SaysTheWholeLine) {
  EXPECT_EQ(Refusal(R"({"lr": {"min": 0.5, "max": 1.5}})"),
            "1:8: space: lr: read {\"min\":0.5, \"max\":1.5}, the form of another tool; expected "
            "{uniform: [0.5, 1.5]} (nested constants of these names are written {const: ...})");
}

TEST(RefuseForeignDomains, LeavesOurOwnFormsAlone) {
  for (const char* const json :
       {R"({"lr": {"loguniform": [1e-5, 0.1]}})", R"({"b": {"choice": [[1, 2], [3]]}})",
        R"({"b": {"const": [16, 32]}})", R"({"min": 3, "type": "sgd"})",
        R"({"x": {"type": "float", "minmax": [0, 1], "step": 0}})",
        R"({"range": {"min": {"uniform": [0, 1]}, "max": 2}})",
        R"({"optimizer": {"type": "sgd", "lr": 0.1}})", R"({"lr": {"unifrom": [0, 1]}})",
        R"({"f": "relu(x)"})
    ", R"({"data" : {"name" : "mnist", "folder" : "x"}}) "}) {
        EXPECT_EQ(Refusal(json), "")
        << json;
}
}

TEST(SpaceConstants, AListIsOneValueUnderConst) {
  const Result<SearchSpace> space =
      SearchSpace::Parse(*ParseJson(R"({"sizes": {"const": [16, 32]}, "m": {"constant": 0.5}})"));
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->parameters().size(), 2u);
  EXPECT_EQ(space->parameters()[0].name, "sizes");
  EXPECT_EQ(ToJson(std::get<Value>(space->parameters()[0].content)), "[16,32]");
  EXPECT_EQ(space->parameters()[1].name, "m");
}

}  // namespace
}  // namespace tune
