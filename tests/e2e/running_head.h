// A head, as tests start it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune::testing {

// Until it says `until`.
inline std::unique_ptr<Program> StartHead(const TestFolder& folder,
                                          const std::vector<std::string>& more = {"--cpus", "2"},
                                          const std::string& until = "the head runs") {
  std::vector<std::string> arguments = {"head"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto head = std::make_unique<Program>(folder, "tune", arguments);
  EXPECT_TRUE(head->WaitForText(until));
  return head;
}

}  // namespace tune::testing
