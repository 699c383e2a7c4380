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
      {R"j({"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true}})j",
       "{loguniform: [1e-05, 0.1]}"},
      {R"j({"lr": {"type": "float", "low": 0, "high": 1}})j", "{uniform: [0.0, 1.0]}"},
      {R"j({"n": {"type": "int", "low": 1, "high": 8}})j", "{randint: [1, 9]}"},
      {R"j({"n": {"low": 1, "high": 8, "log": true}})j", "{lograndint: [1, 9]}"},
      {R"j({"k": {"type": "categorical", "choices": ["a", "b"]}})j", "{choice: [\"a\", \"b\"]}"},
      {R"j({"lr": {"type": "range", "bounds": [0.001, 0.1], "log_scale": true, "value_type": "float"}})j",
       "{loguniform: [0.001, 0.1]}"},
      {R"j({"lr": {"min": 0.001, "max": 0.1}})j", "{uniform: [0.001, 0.1]}"},
      {R"j({"lr": {"distribution": "log_uniform_values", "min": 0.001, "max": 0.1}})j",
       "{loguniform: [0.001, 0.1]}"},
      {R"j({"b": {"values": [16, 32]}})j", "{choice: [16, 32]}"},
      {R"j({"b": {"value": 16}})j", "16, a constant"},
      {R"j({"lr": {"_type": "loguniform", "_value": [0.001, 0.1]}})j",
       "{loguniform: [0.001, 0.1]}"},
      {R"j({"b": {"_type": "choice", "_value": [16, 32]}})j", "{choice: [16, 32]}"},
      {R"j({"lr": {"min_value": 0.001, "max_value": 0.1, "sampling": "log"}})j", "{loguniform: "},
      {R"j({"lr": {"parameterType": "double", "feasibleSpace": {"min": "0.01", "max": "0.03"}}})j",
       "{uniform: [0.01, 0.03]}"},
      {R"j({"lr": "tune.loguniform(1e-5, 1e-1)"})j", "{loguniform: [1e-5, 1e-1]}"},
      {R"j({"b": "tune.choice([16, 32])"})j", "{choice: [16, 32]}"},
      {R"j({"lr": "hp.uniform(0, 1)"})j", "{uniform: [0, 1]}"},
      {R"j({"b": [16, 32]})j", "{choice: [16, 32]}, or {const: [16, 32]}"},
      {R"j({"optimizer": {"lr": {"min": 0.001, "max": 0.1}, "name": "sgd"}})j",
       "optimizer/lr: read"},
      {R"j({"optimizer": {"sizes": [1, 2], "kind": "sgd"}})j", "optimizer/sizes: read a list"},
  };
  for (const auto& [json, own] : forms) EXPECT_THAT(Refusal(json), HasSubstr(own)) << json;
}

TEST(RefuseForeignDomains, SaysTheWholeLine) {
  EXPECT_EQ(Refusal(R"j({"lr": {"min": 0.5, "max": 1.5}})j"),
            "space: lr: read {\"min\":0.5, \"max\":1.5}, the form of another tool; expected "
            "{uniform: [0.5, 1.5]} (nested constants of these names are written {const: ...})");
}

TEST(RefuseForeignDomains, LeavesOurOwnFormsAlone) {
  const char* const forms[] = {
      R"j({"lr": {"loguniform": [1e-5, 0.1]}})j",
      R"j({"b": {"choice": [[1, 2], [3]]}})j",
      R"j({"b": {"const": [16, 32]}})j",
      R"j({"min": 3, "type": "sgd"})j",
      R"j({"x": {"type": "float", "minmax": [0, 1], "step": 0}})j",
      R"j({"range": {"min": {"uniform": [0, 1]}, "max": 2}})j",
      R"j({"optimizer": {"type": "sgd", "lr": 0.1}})j",
      R"j({"lr": {"unifrom": [0, 1]}})j",
      R"j({"f": "relu(x)"})j",
      R"j({"dropout": {"value": {"uniform": [0.1, 0.5]}}})j",
      R"j({"head": {"options": {"depth": {"randint": [1, 4]}}}})j",
      R"j({"data": {"name": "mnist", "folder": "x"}})j",
  };
  for (const char* const json : forms) EXPECT_EQ(Refusal(json), "") << json;
}

TEST(SpaceConstants, AListIsOneValueUnderConst) {
  const Result<SearchSpace> space =
      SearchSpace::Parse(*ParseJson(R"j({"sizes": {"const": [16, 32]}, "m": {"constant": 0.5}})j"));
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->parameters().size(), 2u);
  EXPECT_EQ(space->parameters()[0].name, "sizes");
  EXPECT_EQ(ToJson(std::get<Value>(space->parameters()[0].content)), "[16,32]");
  EXPECT_EQ(space->parameters()[1].name, "m");
}

}  // namespace
}  // namespace tune
