// How a command says what is wrong, and what it then exits with.
//
// Thread rule: one thread.
#pragma once

#include <iostream>
#include <ostream>
#include <string_view>

#include "core/status.h"
#include "core/utf8.h"

namespace tune {

// A line, or several, for a person, on standard error. What trials, workers and files are called
// does nothing to the terminal.
inline void Tell(std::string_view text) { std::cerr << PrintableLines(text) << "\n"; }

// What is wrong with a file, a folder, a name or the command line is the caller's to mend: 2.
// Anything else is 1.
inline int Complain(const Status& status, std::ostream& err) {
  err << "tune: " << PrintableLines(status.message()) << "\n";
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
      return 2;
    default:
      return 1;
  }
}

inline int Complain(const Status& status) { return Complain(status, std::cerr); }

}  // namespace tune
