// How a command says what is wrong, and what it then exits with.
//
// Thread rule: one thread.
#pragma once

#include <ostream>

#include "core/status.h"

namespace tune {

// What is wrong with a file, a folder, a name or the command line is the caller's to mend: 2.
// Anything else is 1.
inline int Complain(const Status& status, std::ostream& err) {
  err << "tune: " << status.message() << "\n";
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kFailedPrecondition:
      return 2;
    default:
      return 1;
  }
}

}  // namespace tune
