// Who keeps a place of those that connections share, when there are more connections than places.
// The address that holds most gives one up, there the client that holds most, and of its
// connections the idlest. So who comes is always served, and a crowd behind one address or one key
// shuts nobody else out.
//
// Thread rule: one thread; no clock: connections are ordered by when they were last used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tune {

class FairPlaces {
 public:
  struct Holder {
    std::string address;
    std::string client;  // One of those behind the address: a browser, or a key's programs.
    bool operator==(const Holder&) const = default;
  };

  explicit FairPlaces(size_t places_max) : places_max_(places_max) {}

  // Gives the connection a place; it counts as busy. Returns the one that has lost its place for
  // it, nothing while there is room.
  std::optional<uint64_t> Take(uint64_t connection, Holder holder);
  // Whether a connection more of this holder's would find a place without one being lost by an
  // equal: there is room, or somebody holds more than it would.
  bool HasRoomFor(const Holder& holder) const;
  // It waits for its client, or no longer does. Of a connection without a place nothing happens,
  // here and below.
  void SetIdle(uint64_t connection, bool is_idle);
  void Leave(uint64_t connection) { places_.erase(connection); }

  bool Holds(uint64_t connection, const Holder& holder) const;
  size_t CountOf(const Holder& holder) const;

 private:
  struct Place {
    Holder holder;
    bool is_idle = false;
    uint64_t used_at = 0;  // The higher, the later.
  };

  // How much a holder has: by address, then by client.
  std::pair<size_t, size_t> HoldingOf(const Holder& holder) const;

  size_t places_max_;
  uint64_t uses_ = 0;
  std::map<uint64_t, Place> places_;
};

}  // namespace tune
