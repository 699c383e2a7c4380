#include "tuner/cli/words/interrupt_words.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace tune {
namespace {

// What a handler may look at.
char words[1024];
volatile size_t word_bytes = 0;

struct sigaction before;
sigset_t mask_before;

void SayAndEnd(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, words, word_bytes);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

InterruptWords::InterruptWords(const std::string& line) {
  const std::string text = line + "\n";
  word_bytes = std::min(text.size(), sizeof words);
  std::copy_n(text.begin(), word_bytes, words);
  struct sigaction action {};
  action.sa_handler = SayAndEnd;
  sigaction(SIGINT, &action, &before);
  // A program that was started in the background does not heed it.
  if (before.sa_handler == SIG_IGN) sigaction(SIGINT, &before, nullptr);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, &mask_before);
}

InterruptWords::~InterruptWords() {
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  sigaction(SIGINT, &before, nullptr);
}

}  // namespace tune
