#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "bench/search_quality/functions.h"
#include "core/json.h"

namespace tune {
namespace {

struct Minimiser {
  const char* function;
  const char* configuration;  // JSON.
};

constexpr Minimiser kMinimisers[] = {
    {"branin", R"({"x0": 3.141592653589793, "x1": 2.275})"},
    {"hartmann6",
     R"({"x0": 0.20168952, "x1": 0.15001069, "x2": 0.47687398,
         "x3": 0.27533243, "x4": 0.31165162, "x5": 0.65730054})"},
    {"levy4", R"({"x0": 1, "x1": 1, "x2": 1, "x3": 1})"},
    {"ackley5", R"({"x0": 0, "x1": 0, "x2": 0, "x3": 0, "x4": 0})"},
    {"rastrigin4", R"({"x0": 0, "x1": 0, "x2": 0, "x3": 0})"},
    {"styblinski_tang5", R"({"x0": -2.9035340, "x1": -2.9035340, "x2": -2.9035340,
                             "x3": -2.9035340, "x4": -2.9035340})"},
    {"ellipsoid10", R"({"x0": 0.7, "x1": 0.7, "x2": 0.7, "x3": 0.7, "x4": 0.7,
                        "x5": 0.7, "x6": 0.7, "x7": 0.7, "x8": 0.7, "x9": 0.7})"},
    {"rosenbrock_log3", R"({"x0": 10, "x1": 10, "x2": 10})"},
    {"sgd_log", R"({"lr": 0.0044668359215096305, "momentum": 0.9,
                    "weight_decay": 0.00031622776601683794, "batch_size": 128})"},
    {"integer_ellipsoid5", R"({"x0": 7, "x1": 22, "x2": 13, "x3": 3, "x4": 28})"},
    {"network_shape", R"({"width": 128, "depth": 4, "dropout": 0.3, "lr": 1e-3})"},
    {"mixed_ackley", R"({"x0": 0, "x1": 0, "x2": 0, "c0": "on", "c1": "relu", "q": 0.6, "o": 8})"},
    {"trainers",
     R"({"kind": "adam", "decay": 1e-4, "adam_lr": 1e-3, "beta": 0.9, "amsgrad": "no"})"},
    {"pipeline12", R"({"c0": "b", "c1": "a", "c2": "d", "c3": "c", "c4": "b", "c5": "a", "c6": "d",
                       "c7": "c", "lr": 1e-2, "dropout": 0.25, "width": 128, "mix": 0.7})"},
    {"methods6", R"({"kind": "3", "shared": 0.5, "rate3": 0.005011872336272725, "share3": 0.55,
                     "size3": 24})"},
    {"noisy_branin", R"({"x0": 3.141592653589793, "x1": 2.275})"},
    {"noisy_hartmann6",
     R"({"x0": 0.20168952, "x1": 0.15001069, "x2": 0.47687398,
         "x3": 0.27533243, "x4": 0.31165162, "x5": 0.65730054})"},
};

Configuration Read(const char* json) {
  Configuration configuration;
  const Result<Value> map = ParseJson(json);
  for (const MapEntry& entry : map->AsMap()) configuration.Set(entry.key, entry.value);
  return configuration;
}

TEST(TestFunctions, TakeTheirMinimumWhereItIsKnownToBe) {
  std::set<std::string_view> seen;
  for (const auto& [name, configuration] : kMinimisers) {
    const TestFunction* const function = FindTestFunction(name);
    ASSERT_NE(function, nullptr) << name;
    EXPECT_NEAR(function->value(Read(configuration)), function->minimum, 1e-6) << name;
    seen.insert(function->name);
  }
  // These are looked at below.
  seen.insert({"categories6", "ellipsoid40", "sparse30"});
  for (const TestFunction& function : TestFunctions()) {
    EXPECT_TRUE(seen.contains(function.name)) << function.name;
  }
}

TEST(TestFunctions, WideFunctionsTakeTheirMinimumAtTheBestOfEachParameter) {
  Configuration at;
  for (int i = 0; i < 40; ++i) {
    at.Set("x" + std::to_string(i), Value(0.1 + 0.02 * ((7 * i) % 40)));
  }
  EXPECT_NEAR(FindTestFunction("ellipsoid40")->value(at), 0, 1e-12);
  for (const auto& [name, best] :
       {std::pair("x3", 0.3), std::pair("x11", 0.8), std::pair("x17", 0.5), std::pair("x23", 0.6),
        std::pair("x28", 0.4)}) {
    at.Set(name, Value(best));
  }
  EXPECT_NEAR(FindTestFunction("sparse30")->value(at), 0, 1e-12);
}

TEST(TestFunctions, TheBestOfTheChoicesIsTheMinimum) {
  const TestFunction& function = *FindTestFunction("categories6");
  double best = std::numeric_limits<double>::infinity();
  for (int n = 0; n < 15625; ++n) {
    Configuration configuration;
    for (int i = 0, rest = n; i < 6; ++i, rest /= 5) {
      configuration.Set("c" + std::to_string(i),
                        Value(std::string(1, static_cast<char>('a' + rest % 5))));
    }
    best = std::min(best, function.value(configuration));
  }
  EXPECT_DOUBLE_EQ(best, function.minimum);
}

TEST(TestFunctions, NoiseIsKeyedBySeedAndTrial) {
  const TestFunction& function = *FindTestFunction("noisy_branin");
  const Configuration configuration = Read(R"({"x0": 0, "x1": 0})");
  const double once = Observe(function, configuration, 1, 2);
  EXPECT_EQ(once, Observe(function, configuration, 1, 2));
  EXPECT_NE(once, Observe(function, configuration, 1, 3));
  EXPECT_NE(once, Observe(function, configuration, 2, 2));
}

}  // namespace
}  // namespace tune
