// What a head keeps of sweeps and jobs that are over: by age, and by the size of what they left.
//
// Thread rule: pure, but for FindEnded: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

struct RetentionRule {
  std::optional<Duration> age;   // Since the end.
  std::optional<int64_t> bytes;  // Of the artifacts of all together.

  bool is_any() const { return age || bytes; }
};

// Who has this tag stays.
inline constexpr char kKeepTag[] = "keep";

struct EndedSweep {
  std::string name;
  Instant ended_at;
  int64_t bytes = 0;  // Of its artifacts; asked for by a rule of bytes alone.

  friend bool operator==(const EndedSweep&, const EndedSweep&) = default;
};

// Those that go by the rule, the one that ended first before the others.
std::vector<EndedSweep> Expired(std::vector<EndedSweep> ended, const RetentionRule& rule,
                                Instant now);

// FINISHED or STOPPED, without kKeepTag, and no unfinished sweep learns from it. Of no size yet.
Result<std::vector<EndedSweep>> FindEnded(const std::string& db_path);

// How long a head lives before it removes by age: at a boot the machine's clock may still be wrong.
Duration ClockTrustedAfter(const RetentionRule& rule);

// How often it is worth a look.
Duration LookEvery(const RetentionRule& rule);

}  // namespace tune
