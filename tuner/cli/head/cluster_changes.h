// What `tune cluster` says while it waits: of requests and pools what has changed.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "core/value.h"

namespace tune {

// Of an object of a cluster's state (cluster_lines.h); null where it is not there.
const Value& MemberOf(const Value& map, const char* key);
std::string TextMemberOf(const Value& map, const char* key);

class ClusterChanges {
 public:
  explicit ClusterChanges(std::ostream& err) : err_(err) {}
  // A line for each request or pool that is not as it was the last time.
  void Show(const Value& state);

 private:
  std::ostream& err_;
  std::map<std::string, std::string> shown_;  // By worker or pool.
};

// What did not come about in time: the state, and the end of the last failed worker's log.
void TellWhatIsLeft(const Value& state, size_t width, std::ostream& err);

// Whether nothing is left but workers of hosts that are not reached; they are told.
bool TellUnreached(const Value& state, std::ostream& err);

}  // namespace tune
