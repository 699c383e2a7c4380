#include "tuner/fair_share.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tune {
namespace {

int64_t Rank(const Claimant& claimant, Instant now) {
  if (!claimant.waiting_since) return claimant.share.priority;
  const int64_t ages = (now - *claimant.waiting_since).us / kAgeing.us;
  return claimant.share.priority + std::clamp<int64_t>(ages, 0, kAgeingMax);
}

// Lower ones are first.
int Tier(const Claimant& claimant, Instant now) {
  if (claimant.waiting_since && now >= *claimant.waiting_since + kBeforeReserves) return 0;
  return claimant.has_unmet_reserve ? 1 : 2;
}

// The larger of the two parts, of CPUs and of GPUs, that it has of all there is; times both totals,
// so that it is whole.
__int128 Dominant(const Usage& used, const Usage& total) {
  const __int128 cpu_total = std::max<int64_t>(total.cpu_milli, 1);
  if (total.gpu_milli <= 0) return used.cpu_milli;
  return std::max(static_cast<__int128>(used.cpu_milli) * total.gpu_milli,
                  static_cast<__int128>(used.gpu_milli) * cpu_total);
}

}  // namespace

std::vector<size_t> FairOrder(const std::vector<Claimant>& claimants, const Usage& total,
                              Instant now) {
  std::vector<size_t> order(claimants.size());
  std::iota(order.begin(), order.end(), size_t{0});
  struct Place {
    int tier;
    int64_t rank;
    __int128 owner;
    __int128 own;
    Instant since;
  };
  std::vector<Place> places;
  places.reserve(claimants.size());
  for (const Claimant& claimant : claimants) {
    places.push_back({Tier(claimant, now), Rank(claimant, now),
                      Dominant(claimant.used_by_owner, total), Dominant(claimant.used, total),
                      claimant.waiting_since.value_or(now)});
  }
  const auto is_before = [&](size_t left, size_t right) {
    const Place& a = places[left];
    const Place& b = places[right];
    if (a.tier != b.tier) return a.tier < b.tier;
    if (a.rank != b.rank) return a.rank > b.rank;
    if (a.owner != b.owner) return a.owner < b.owner;
    // Dominant share by weight, without fractions.
    const __int128 share_a = a.own * claimants[right].share.weight;
    const __int128 share_b = b.own * claimants[left].share.weight;
    if (share_a != share_b) return share_a < share_b;
    return std::tuple(a.since, claimants[left].sweep) < std::tuple(b.since, claimants[right].sweep);
  };
  std::sort(order.begin(), order.end(), is_before);
  return order;
}

}  // namespace tune
