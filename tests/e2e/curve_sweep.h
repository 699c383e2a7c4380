// The sweep that most end-to-end tests run: a curve that falls with t and is best near x = 0.3. And
// what its answer is.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune::testing {

// A space file. `curve` goes under the trainable ("    iterations: 9\n"), `rest` to the end.
inline std::string CurveSweep(const std::string& curve, const std::string& rest) {
  return "trainable:\n  curve:\n    value: \"(x - 0.3)^2 + exp(-0.2 * t)\"\n" + curve +
         "metric: loss\nmode: min\nseed: 11\nspace: {x: {uniform: [0, 1]}}\n" + rest;
}
inline constexpr char kAsha[] =
    "scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n";

// What a sweep's answer consists of.
inline std::vector<std::string> FinalTable(const TestFolder& folder,
                                           const std::string& db = "tune.db") {
  return Query(folder,
               "select number, status, stop_reason, config, iterations, best_value, "
               "best_iteration, last_value from trials order by number",
               db);
}

// Of a sweep that nobody disturbs, and whose iterations take no time.
inline std::vector<std::string> UndisturbedTable(const std::string& space) {
  TestFolder folder;
  const ProgramResult result = RunTune(
      folder, {"run", folder.Write("space.yaml", space), "--set", "trainable.curve.seconds=0"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return FinalTable(folder);
}

}  // namespace tune::testing
