// The connections that a listener has handed on, until they are closed: how many there may be, and
// who gives way to whom.
//
// A connection is a stranger's until its peer has shown that it may join. Strangers have few places
// of their own; where those are taken, the oldest stranger of the address that has most of them is
// shut down. So an address that holds little always gets in, whatever a crowd does elsewhere, and a
// connection whose peer is known never gives way to a stranger's.
//
// Thread rule: any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace tune {

// How many connections of which kind there may be.
struct ListenerRoom {
  int64_t silent_max = 0;       // Accepted, and nothing was heard of them.
  int64_t open_max = 0;         // Handed on, and not closed since.
  int64_t open_of_one_max = 0;  // The same, of one address (IPv6: of one /64 network).
  int64_t stranger_max = 0;     // Those of them whose peers are not known.
};
// What a process with so many descriptors can give to its listeners. It leaves room for strangers
// that were shut down and are not closed yet: as many as `stranger_max`.
ListenerRoom RoomWithin(int64_t descriptor_limit);

class OpenConnections {
 public:
  // Where a connection comes from.
  struct Peer {
    std::string owner;    // What stands for its address: equal or not.
    std::string address;  // "10.0.0.7:41230", "[::1]:41230".
  };

  explicit OpenConnections(const ListenerRoom& room) : room_(room) {}

  const ListenerRoom& room() const { return room_; }

  enum class Room {
    kTaken,
    kLater,  // As soon as somebody who was shut down is closed.
    kNone,   // Those who hold all of it are known.
  };
  // Counts a stranger that is about to be handed on; another one may be shut down for it. Somebody
  // else closes the descriptor.
  Room Add(int fd, const Peer& peer);
  // Whoever speaks from this address has shown that it may join.
  void SetKnown(const std::string& address);
  // The places of connections that are silent are all taken: by so many, most of them of one.
  void NoteSilentCrowd(int64_t count, const Peer& most, int64_t count_of_most);
  // A line for a person when a crowd was first met; nothing more of it is said.
  std::optional<std::string> TakeNotice();

 private:
  using Moment = std::chrono::steady_clock::time_point;
  struct Open {
    int fd = -1;
    ino_t inode = 0;
    Peer peer;
    bool is_known = false;
  };

  bool IsFull(const std::string& owner) const;
  Room MakeRoom(const std::string& owner);
  int64_t CountOf(const std::string& owner) const;
  std::optional<uint64_t> OldestOfMost() const;
  void ShutDown(uint64_t id);
  void Forget(uint64_t id);
  void ForgetClosed();
  void Note(std::string text);

  const ListenerRoom room_;
  std::mutex mutex_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Open> open_;  // In the order of their coming; closed ones until forgotten.
  std::map<std::string, uint64_t> by_address_;
  std::map<std::string, int64_t> count_of_;                 // By owner.
  std::map<std::string, std::set<uint64_t>> strangers_of_;  // By owner.
  int64_t stranger_count_ = 0;
  std::deque<Open> leaving_;  // Shut down, and perhaps not closed yet.
  Moment look_again_at_;
  bool has_noted_ = false;
  std::optional<std::string> notice_;
};

}  // namespace tune
