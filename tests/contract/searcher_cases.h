// What a searcher must get along with: spaces of every kind, each a case of the contract
// (searcher_contract.h).
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/random.h"

namespace tune {

struct SearcherCase {
  std::string name;
  std::string search;       // JSON.
  std::string space;        // JSON.
  bool is_ordered = false;  // A suggestion may depend on those before it.
  std::string constraints = "null";
  std::vector<Mode> modes = {Mode::kMax};
  std::string points = "null";
};
inline void PrintTo(const SearcherCase& c, std::ostream* out) { *out << c.name; }

// What a searcher must get along with.
inline constexpr char kMixedSpace[] =
    R"({"lr": {"loguniform": [1e-5, 1e-1]}, "net": {"width": {"choice": [16, 32]}, "act": "relu"},
        "depth": {"randint": [1, 5]}, "q": {"quniform": [0.0, 1.0, 0.1]}})";
inline constexpr char kDiscreteSpace[] =
    R"({"a": {"choice": ["x", "y"]}, "b": {"randint": [1, 4]}, "c": 3,
        "d": {"quniform": [0, 1, 0.5]}})";
inline constexpr char kConditionalSpace[] =
    R"({"beta": {"uniform": [0.8, 0.99], "when": {"kind": "adam"}},
        "kind": {"choice": ["adam", "sgd", "lion"]}, "lr": {"loguniform": [1e-5, 1e-1]},
        "sgd": {"when": {"kind": "sgd"}, "nesterov": {"choice": [true, false]}, "decay": 0.1,
                "steps": {"randint": [1, 9], "when": {"nesterov": true}}}})";
// 9 configurations.
inline constexpr char kConditionalDiscreteSpace[] =
    R"({"b": {"randint": [0, 3], "when": {"a": ["x", "z"]}}, "a": {"choice": ["w", "x", "y", "z"]},
        "c": {"ordinal": [1, 2], "when": {"a": "y"}}})";
inline constexpr char kConstrainedSpace[] =
    R"({"width": {"randint": [1, 65]}, "depth": {"randint": [1, 65]}, "x": {"uniform": [0, 1]},
        "kind": {"choice": ["a", "b"]}, "y": {"uniform": [0, 1], "when": {"kind": "b"}}})";
inline constexpr char kConstraints[] =
    R"(["width * depth <= 64", "x > 0.2 or kind == 'a'", "x + y < 1"])";
inline constexpr char kPoints[] =
    R"([{"width": 16, "depth": 4, "x": 0.5, "kind": "a"}, {"width": 60}, {"kind": "b", "y": 0.25}])";
// 19 of 2401 configurations are allowed.
inline constexpr char kTightSpace[] =
    R"({"a": {"randint": [0, 49]}, "b": {"qrandint": [0, 480, 10]}})";
inline constexpr char kTightConstraints[] = R"(["b / 10 + a == 18"])";

inline constexpr char kGuessedSpace[] =
    R"({"lr": {"loguniform": [1e-5, 1e-1], "guess": 1e-3}, "n": {"randint": [0, 99], "guess": 98},
        "kind": {"choice": ["a", "b"], "guess": "b"},
        "y": {"uniform": [0, 1], "guess": 0.5, "when": {"kind": "a"}}, "free": {"uniform": [0, 1]}})";
inline constexpr char kSinglePoint[] = R"({"x": {"randint": [3, 4]}, "c": {"a": 1}})";

// An algorithm's cases. `counts_only`: it cannot search what is continuous.
inline std::vector<SearcherCase> CasesOf(const std::string& name, const std::string& search,
                                         bool is_ordered = false, bool counts_only = false) {
  std::vector<SearcherCase> cases = {
      {name + "_discrete", search, kDiscreteSpace, is_ordered},
      {name + "_conditional_discrete", search, kConditionalDiscreteSpace, is_ordered},
      {name + "_tight", search, kTightSpace, is_ordered, kTightConstraints},
      {name + "_single", search, kSinglePoint, is_ordered}};
  if (counts_only) return cases;
  cases.push_back({name + "_mixed", search, kMixedSpace, is_ordered});
  cases.push_back({name + "_conditional", search, kConditionalSpace, is_ordered});
  cases.push_back({name + "_guessed", search, kGuessedSpace, is_ordered});
  cases.push_back({name + "_constrained", search, kConstrainedSpace, is_ordered, kConstraints});
  cases.push_back({name + "_points",
                   search,
                   kConstrainedSpace,
                   is_ordered,
                   kConstraints,
                   {Mode::kMax},
                   kPoints});
  return cases;
}

inline Metric DrawValue(KeyedRandom& random) {
  switch (random.NextBelow(24)) {
    case 0:
      return std::numeric_limits<double>::infinity();
    case 1:
      return -std::numeric_limits<double>::infinity();
    case 2:
      return std::numeric_limits<double>::max();
    case 3:
      return std::numeric_limits<double>::lowest();
    case 4:
      return std::nan("");
    case 5:
    case 6:
    case 7:
      return std::nullopt;
    default:
      return random.NextNormal();
  }
}

}  // namespace tune
