// Who is still there: each connected worker, when it was last heard of, and when a sign of life is
// due to it. What is silent for a whole lease is given up by whoever asks.
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "core/time.h"

namespace tune {

class Liveness {
 public:
  Liveness(Duration heartbeat, Duration lease) : heartbeat_(heartbeat), lease_(lease) {}

  void OnHeard(WorkerId worker, Instant now);
  // Nothing: it is not connected, or was given up.
  std::optional<Instant> HeardAt(WorkerId worker) const;
  void Forget(WorkerId worker) { workers_.erase(worker); }
  // We did not run for so long: nobody could be heard.
  void Excuse(Duration duration);

  // Those of which nothing was heard for a lease, each once.
  std::vector<WorkerId> TakeSilent(Instant now);
  // Those to which a heartbeat is due; it counts as sent.
  std::vector<WorkerId> TakeDue(Instant now);
  // When one of the two has something, at the latest.
  std::optional<Instant> NextDeadline() const;
  // The same of TakeDue alone.
  std::optional<Instant> NextHeartbeat() const;

 private:
  struct Entry {
    Instant heard_at;
    Instant beat_at;  // The next heartbeat is due.
  };

  const Duration heartbeat_;
  const Duration lease_;
  std::map<WorkerId, Entry> workers_;
};

}  // namespace tune
