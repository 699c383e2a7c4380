// Ends a test program that waits for what never comes, before ctest does: with the name of the test
// that waited, which is a sentence, and where each of its calls stood. `TUNE_TEST_SECONDS`, which
// ctest sets, is how long the program may take; without it, by hand, there is no end.
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

namespace tune {
namespace {

// Read by the handler of a signal: no memory may be asked for there.
std::array<char, 256> current_test{};
std::size_t current_test_size = 0;

void Write(const char* text, std::size_t size) {
  if (write(STDERR_FILENO, text, size) < 0) return;
}

void GiveUp(int) {
  constexpr char kBegin[] = "\nthe time of this program is over (TUNE_TEST_SECONDS), in the test ";
  Write(kBegin, sizeof kBegin - 1);
  Write(current_test.data(), current_test_size);
  Write("\n", 1);
  std::array<void*, 64> calls{};
  backtrace_symbols_fd(calls.data(), backtrace(calls.data(), calls.size()), STDERR_FILENO);
  std::abort();
}

class Patience final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    const char* const seconds = std::getenv("TUNE_TEST_SECONDS");
    if (seconds == nullptr) return;
    std::array<void*, 1> loads_what_backtrace_needs{};
    (void)backtrace(loads_what_backtrace_needs.data(), 1);
    struct sigaction action {};
    action.sa_handler = GiveUp;
    sigaction(SIGALRM, &action, nullptr);
    alarm(static_cast<unsigned>(std::atoi(seconds)));
  }
  void OnTestStart(const ::testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    current_test_size = std::min(name.size(), current_test.size());
    std::memcpy(current_test.data(), name.data(), current_test_size);
  }
};

[[maybe_unused]] const bool is_installed = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Patience);
  return true;
}();

}  // namespace
}  // namespace tune
