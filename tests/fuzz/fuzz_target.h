// What a target of the fuzzers is. libFuzzer calls the first from inputs of its own; the ordinary
// tests call it with mutations of the second's (seeded_runs.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Any bytes at all. What must hold is checked with TUNE_CHECK; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tune {

struct FuzzStart {
  std::vector<std::string> inputs;  // Such as are understood, of every kind that there is.
  uint64_t rounds = 0;              // So many mutations take about a second.
};
FuzzStart StartOfFuzz();

}  // namespace tune
