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
  const auto is_before = [&](size_t left, size_t right) {
    const Claimant& a = claimants[left];
    const Claimant& b = claimants[right];
    if (Rank(a, now) != Rank(b, now)) return Rank(a, now) > Rank(b, now);
    const __int128 owner_a = Dominant(a.used_by_owner, total);
    const __int128 owner_b = Dominant(b.used_by_owner, total);
    if (owner_a != owner_b) return owner_a < owner_b;
    // Dominant share by weight, without fractions.
    const __int128 share_a = Dominant(a.used, total) * b.share.weight;
    const __int128 share_b = Dominant(b.used, total) * a.share.weight;
    if (share_a != share_b) return share_a < share_b;
    const auto since = [now](const Claimant& c) { return c.waiting_since.value_or(now); };
    return std::tuple(since(a), a.sweep) < std::tuple(since(b), b.sweep);
  };
  std::sort(order.begin(), order.end(), is_before);
  return order;
}

}  // namespace tune
