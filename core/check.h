// TUNE_CHECK: what must hold unless the program itself is wrong. It stays on in release builds: a
// bug dies where it is, before it can be committed to a database.
#pragma once

namespace tune {

// Prints "file:line: check failed: condition" to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace tune

#define TUNE_CHECK(condition)                              \
  do {                                                     \
    if (!(condition)) [[unlikely]]                         \
      ::tune::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
