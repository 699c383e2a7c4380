// Everything that happens in a run, folded into one hash, printed where somebody reads along; and
// the first thing that was found wrong, which ends the run.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "tests/sim/happenings.h"

namespace tune::sim {

class Trace {
 public:
  Trace(const Happenings& happenings, bool is_verbose)
      : happenings_(happenings), start_(happenings.now()), is_verbose_(is_verbose) {}

  bool is_verbose() const { return is_verbose_; }
  uint64_t hash() const { return hash_; }

  // `what` is what happened; the numbers and the bytes are what it happened with.
  void Note(std::string_view what, std::initializer_list<int64_t> numbers = {},
            std::string_view bytes = {});
  // The same, for what a line of its own tells better.
  void Fold(std::string_view what, std::initializer_list<int64_t> numbers = {},
            std::string_view bytes = {});
  // A line for a reader; no part of the hash. Build the text only if is_verbose().
  void Print(const std::string& line) const;

  // Something that must not be. The first one stands.
  void Fail(const std::string& finding);
  bool has_failed() const { return !finding_.empty(); }
  const std::string& finding() const { return finding_; }

 private:
  const Happenings& happenings_;
  const Instant start_;
  const bool is_verbose_;
  uint64_t hash_ = 0;
  std::string finding_;
};

}  // namespace tune::sim
