// The fuzzers' targets with fixed seeds, as ordinary tests: each of a target's own inputs, and
// mutations of them. A target that does not hold ends the program; the input is printed then.
// TUNE_FUZZ_SEED and TUNE_FUZZ_ROUNDS draw others, and more of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "tests/fuzz/fuzz_target.h"

namespace tune {
namespace {

constexpr uint64_t kEditsMax = 4;
constexpr size_t kPieceMax = 16;
// What the grammars are made of.
constexpr std::string_view kMarks = "{}[]()\",:'\n.-+0123456789eE<>=*^ \\&|#?_x";

std::string_view running;  // The input that the target is given.

void PrintRunning(int) {
  constexpr std::string_view kWords = "\nthe input was:\n";
  if (write(STDERR_FILENO, kWords.data(), kWords.size()) < 0) return;
  if (write(STDERR_FILENO, running.data(), running.size()) < 0) return;
}

void Give(const std::string& input) {
  running = input;
  EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

void Edit(const std::vector<std::string>& inputs, KeyedRandom& random, std::string& text) {
  const size_t at = random.NextBelow(text.size() + 1);
  const size_t length = random.NextBelow(kPieceMax) + 1;
  switch (random.NextBelow(6)) {
    case 0:
      text.insert(at, 1, static_cast<char>(random.NextBelow(256)));
      return;
    case 1:
      text.insert(at, 1, kMarks[random.NextBelow(kMarks.size())]);
      return;
    case 2:
      text.erase(at, random.NextBelow(2) == 0 ? 1 : length);
      return;
    case 3:
      if (at < text.size()) text[at] = kMarks[random.NextBelow(kMarks.size())];
      return;
    case 4:  // A piece of it once more, elsewhere.
      text.insert(random.NextBelow(text.size() + 1), text.substr(at, length));
      return;
    default: {  // It goes on as another one does.
      const std::string& other = inputs[random.NextBelow(inputs.size())];
      text = text.substr(0, at) + other.substr(std::min(at, other.size()));
    }
  }
}

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(SeededRuns, TheTargetHoldsForItsInputsAndWhatIsNearThem) {
  std::signal(SIGABRT, PrintRunning);
  const FuzzStart start = StartOfFuzz();
  ASSERT_FALSE(start.inputs.empty());
  Give("");
  for (const std::string& input : start.inputs) Give(input);
  const uint64_t seed = NumberFrom("TUNE_FUZZ_SEED", 1);
  const uint64_t rounds = NumberFrom("TUNE_FUZZ_ROUNDS", start.rounds);
  for (uint64_t round = 0; round < rounds; ++round) {
    KeyedRandom random(seed, "fuzz", round);
    std::string text = start.inputs[random.NextBelow(start.inputs.size())];
    for (uint64_t edits = random.NextBelow(kEditsMax) + 1; edits > 0; --edits) {
      Edit(start.inputs, random, text);
    }
    Give(text);
  }
}

}  // namespace
}  // namespace tune
