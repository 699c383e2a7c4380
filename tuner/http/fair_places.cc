#include "tuner/http/fair_places.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tune {

std::optional<uint64_t> FairPlaces::Take(uint64_t connection, Holder holder) {
  places_[connection] = {std::move(holder), false, ++uses_};
  if (places_.size() <= places_max_) return std::nullopt;
  // The newcomer counts as one of its holder's, but is not the one that goes.
  const auto weight = [&](const auto& entry) {
    const auto& [id, place] = entry;
    return std::tuple(id != connection, HoldingOf(place.holder), place.is_idle,
                      std::numeric_limits<uint64_t>::max() - place.used_at);
  };
  const auto loser =
      std::max_element(places_.begin(), places_.end(),
                       [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
  const uint64_t lost = loser->first;
  places_.erase(loser);
  return lost;
}

bool FairPlaces::HasRoomFor(const Holder& holder) const {
  if (places_.size() < places_max_) return true;
  const auto would_hold = [&](const Holder& whose) {
    auto [of_address, of_client] = HoldingOf(whose);
    if (whose.address == holder.address) ++of_address;
    if (whose == holder) ++of_client;
    return std::pair(of_address, of_client);
  };
  return std::any_of(places_.begin(), places_.end(), [&](const auto& entry) {
    return would_hold(entry.second.holder) > would_hold(holder);
  });
}

void FairPlaces::SetIdle(uint64_t connection, bool is_idle) {
  const auto found = places_.find(connection);
  if (found == places_.end()) return;
  found->second.is_idle = is_idle;
  found->second.used_at = ++uses_;
}

bool FairPlaces::Holds(uint64_t connection, const Holder& holder) const {
  const auto found = places_.find(connection);
  return found != places_.end() && found->second.holder == holder;
}

size_t FairPlaces::CountOf(const Holder& holder) const { return HoldingOf(holder).second; }

std::pair<size_t, size_t> FairPlaces::HoldingOf(const Holder& holder) const {
  std::pair<size_t, size_t> holding;
  for (const auto& [id, place] : places_) {
    if (place.holder.address != holder.address) continue;
    ++holding.first;
    if (place.holder.client == holder.client) ++holding.second;
  }
  return holding;
}

}  // namespace tune
