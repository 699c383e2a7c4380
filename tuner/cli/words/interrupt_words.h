// What a program that Ctrl-C ends says before: that what it watched goes on.
//
// Thread rule: one thread, and one of these at a time.
#pragma once

#include <string>

namespace tune {

// While it is there, SIGINT, which ends the program as it always does, writes a line to standard
// error first. One that this thread had blocked, and that came meanwhile, ends it at once.
class InterruptWords {
 public:
  explicit InterruptWords(const std::string& line);
  ~InterruptWords();
  InterruptWords(const InterruptWords&) = delete;
  InterruptWords& operator=(const InterruptWords&) = delete;
};

}  // namespace tune
