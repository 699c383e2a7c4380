// What a trial process may allocate, and what it says when there is no more.
//
// The limit is the process's own (RLIMIT_DATA: what is allocated, not what is read from files): it
// needs no rights, is gone with the process, and lets an allocation fail where it can be told from
// a crash.
//
// Thread rule: one object in a process, one thread; allocations may fail in any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trial_runner/worker/trial_protocol.h"

namespace tune {

class MemoryGuard {
 public:
  // From now on; 0: none. It is printed each time, for the log of the attempt that begins.
  void Limit(int64_t bytes);
  int64_t limit_bytes() const { return limit_bytes_; }  // 0: none.

  // From now on a failed `new`, in any thread, ends the attempt as out_of_memory, and the process
  // with it. What allocates by other means throws std::bad_alloc: to be caught, and ended with
  // OutOfMemory(). `advice`: what a person could change; may be empty.
  void EndWhenOutOfMemory(std::string advice);
  TrialEnd OutOfMemory() const;

  // The attempt whose end it is then, as far as the worker is told: 0 where one runs at a time.
  // Nothing: of several nobody knows which one took too much, and the worker sees the process end.
  void SpeakFor(std::optional<int64_t> lane);

 private:
  void MakeLine();

  int64_t limit_bytes_ = 0;  // 0: none.
  bool is_told_ = false;     // EndWhenOutOfMemory was called.
  std::string advice_;
  std::optional<int64_t> lane_ = 0;
};

}  // namespace tune
