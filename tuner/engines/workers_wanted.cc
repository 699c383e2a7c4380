#include "tuner/engines/workers_wanted.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tune {
namespace {

// A worker in the plan: one that is there, one that was asked for, or a new one.
struct Bin {
  std::string name;  // Empty: new.
  std::optional<size_t> pool;
  WorkerView view;
  bool is_size_known = true;
  bool is_here = false;
  bool is_away = false;
  bool is_busy = false;
  bool is_needed = false;
  std::optional<Instant> unneeded_since;
  std::optional<Instant> asked_at;  // Of one that has not come.
};

class Plan {
 public:
  Plan(const std::vector<PoolOffer>& pools, Instant now) : pools_(pools), now_(now) {
    counts_.resize(pools.size());
    asked_.resize(pools.size());
  }

  void Add(const std::vector<RequestedWorker>& requested, const std::vector<JoinedWorker>& joined);
  DemandFate Place(const WorkerDemand& demand);
  void FillUpToMin();
  WantedWorkers Result(std::vector<DemandFate> fates) const;

 private:
  // `count` trials as far as they go onto one worker; how many did.
  static int64_t Fill(const ResourceRequest& request, int64_t count, Bin& bin);
  int64_t PlaceSpread(const WorkerDemand& demand, DemandFate& fate);
  // Where trials of a demand are put: free ones now, or on workers that were asked for at a time.
  struct Places {
    int64_t here = 0;
    std::vector<std::pair<int64_t, Instant>> on_their_way;
  };
  int64_t BeginSooner(const WorkerDemand& demand, int64_t left, const Places& places) const;
  bool MayTake(const WorkerDemand& demand, const Bin& bin) const {
    return !(bin.is_here || bin.is_away) || !demand.unfit.contains(bin.view.worker);
  }
  bool IsResting(size_t pool) const {
    return pools_[pool].rests_until && now_ < *pools_[pool].rests_until;
  }
  static bool CouldHold(const ResourceRequest& request, const PoolOffer& pool) {
    return !pool.capacity || CouldEverFit(request, *pool.capacity);
  }
  // The first pool that could give one more worker that holds it; nothing: none could.
  std::optional<size_t> PoolFor(const ResourceRequest& request) const;
  // A new worker of it.
  Bin* Open(const ResourceRequest& request);
  Bin NewBin(size_t pool) const;
  std::string WhyNoMore(const ResourceRequest& request) const;

  const std::vector<PoolOffer>& pools_;
  const Instant now_;
  std::vector<Bin> bins_;
  std::vector<int64_t> counts_;  // By pool: with those that are asked for now.
  std::vector<int64_t> asked_;
};

// Those that work come first, so that those that were idle for longest are left over.
void Plan::Add(const std::vector<RequestedWorker>& requested,
               const std::vector<JoinedWorker>& joined) {
  for (const JoinedWorker& worker : joined) {
    if (worker.is_leaving) continue;
    Bin bin;
    bin.name = worker.name;
    bin.pool = worker.pool;
    bin.view = worker.view;
    // It is granted nothing while it is away, as if it left; its room is there again when it is.
    if (worker.is_away) bin.view.is_draining = false;
    bin.is_here = !worker.is_away;
    bin.is_away = worker.is_away;
    bin.is_busy = bin.is_needed = worker.is_busy;
    bin.unneeded_since = worker.unneeded_since;
    bins_.push_back(std::move(bin));
  }
  for (const RequestedWorker& worker : requested) {
    Bin bin = NewBin(worker.pool);
    bin.name = worker.name;
    bin.unneeded_since = worker.unneeded_since;
    bin.asked_at = worker.asked_at;
    bins_.push_back(std::move(bin));
  }
  for (const Bin& bin : bins_) {
    if (bin.pool) ++counts_[*bin.pool];
  }
  const auto rank = [this](const Bin& bin) {
    const Instant since = bin.unneeded_since.value_or(now_);
    return std::tuple(!bin.is_here, !bin.is_away, bin.pool.has_value(), !bin.is_busy, -since.us);
  };
  std::stable_sort(bins_.begin(), bins_.end(),
                   [&rank](const Bin& a, const Bin& b) { return rank(a) < rank(b); });
}

Bin Plan::NewBin(size_t pool) const {
  Bin bin;
  bin.pool = pool;
  bin.is_size_known = pools_[pool].capacity.has_value();
  if (bin.is_size_known) bin.view = EmptyWorker({}, *pools_[pool].capacity);
  return bin;
}

int64_t Plan::Fill(const ResourceRequest& request, int64_t count, Bin& bin) {
  int64_t placed = 0;
  if (!bin.is_size_known) {
    placed = bin.is_needed ? 0 : std::min<int64_t>(count, 1);
  } else if (request.workers == 1) {
    for (; placed < count; ++placed) {
      const std::optional<Placement> place = PlaceOn(request, bin.view);
      if (!place) break;
      Book(*place, -1, bin.view);
    }
  } else {
    for (; placed < count; ++placed) {
      const std::vector<Placement> ranks = PlaceRanks(request, {bin.view});
      if (ranks.empty()) break;
      for (const Placement& rank : ranks) Book(rank, -1, bin.view);
    }
  }
  bin.is_needed = bin.is_needed || placed > 0;
  return placed;
}

std::optional<size_t> Plan::PoolFor(const ResourceRequest& request) const {
  for (size_t pool = 0; pool < pools_.size(); ++pool) {
    if (counts_[pool] >= pools_[pool].max || IsResting(pool)) continue;
    if (CouldHold(request, pools_[pool])) return pool;
  }
  return std::nullopt;
}

Bin* Plan::Open(const ResourceRequest& request) {
  const std::optional<size_t> pool = PoolFor(request);
  if (!pool) return nullptr;
  ++counts_[*pool];
  ++asked_[*pool];
  bins_.push_back(NewBin(*pool));
  return &bins_.back();
}

// Of `left` trials, so many begin where trials of the sweep run, or are about to, before a worker
// that is asked for now could take one: each place begins another one whenever one ends.
int64_t Plan::BeginSooner(const WorkerDemand& demand, int64_t left, const Places& places) const {
  const std::optional<size_t> pool = PoolFor(demand.request);
  if (!demand.takes || !pool || !pools_[*pool].start || demand.takes->us <= 0) return 0;
  const Duration start = *pools_[*pool].start;
  const auto begun = [&](Duration time) {
    return std::max<int64_t>(0, time.us) / demand.takes->us;
  };
  int64_t sooner = 0;
  // Those that run are anywhere in their time.
  sooner += static_cast<int64_t>(static_cast<double>(demand.running) * start.seconds() /
                                 demand.takes->seconds());
  sooner += places.here * begun(start);
  for (const auto& [count, asked_at] : places.on_their_way) {
    // One that is late, in a queue for hours, comes no sooner than at once.
    sooner += count * begun(std::min(start, now_ - asked_at));
  }
  return std::min(left, sooner);
}

// Ranks that may lie on several workers: all of a trial, or none.
int64_t Plan::PlaceSpread(const WorkerDemand& demand, DemandFate& fate) {
  ResourceRequest rank = demand.request;
  rank.workers = 1;
  int64_t placed = 0;
  for (; placed < demand.count; ++placed) {
    const std::vector<Bin> before = bins_;
    const auto counts = std::pair(counts_, asked_);
    int64_t left = demand.request.workers;
    bool is_new = false;
    std::set<size_t> pools;
    for (Bin& bin : bins_) {
      if (left == 0 || !MayTake(demand, bin)) continue;
      const int64_t here = Fill(rank, left, bin);
      left -= here;
      if (here == 0 || bin.is_here) continue;
      is_new = true;
      if (bin.pool) pools.insert(*bin.pool);
    }
    while (left > 0) {
      Bin* const bin = Open(rank);
      const int64_t here = bin == nullptr ? 0 : Fill(rank, left, *bin);
      if (here == 0) break;
      left -= here;
      is_new = true;
      pools.insert(*bin->pool);
    }
    if (left > 0) {
      bins_ = before;
      std::tie(counts_, asked_) = counts;
      break;
    }
    fate.pools.merge(pools);
    fate.placed += is_new ? 1 : 0;
    fate.waiting += is_new ? 1 : 0;
  }
  return placed;
}

DemandFate Plan::Place(const WorkerDemand& demand) {
  DemandFate fate;
  int64_t left = demand.count;
  if (demand.request.workers > 1 && demand.request.spread) {
    left -= PlaceSpread(demand, fate);
    fate.waiting += left;
  } else {
    for (Bin& bin : bins_) {
      if (left == 0) break;
      if (!bin.is_here || !MayTake(demand, bin)) continue;
      left -= Fill(demand.request, left, bin);
    }
    fate.waiting = left;
    Places places{demand.count - left, {}};
    for (Bin& bin : bins_) {
      if (left == 0) break;
      if (bin.is_here || !MayTake(demand, bin)) continue;
      const int64_t there = Fill(demand.request, left, bin);
      left -= there;
      if (there > 0 && bin.pool) fate.pools.insert(*bin.pool);
      if (there > 0 && bin.asked_at) places.on_their_way.emplace_back(there, *bin.asked_at);
    }
    fate.sooner = BeginSooner(demand, left, places);
    left -= fate.sooner;
    while (left > 0) {
      Bin* const bin = Open(demand.request);
      const int64_t here = bin == nullptr ? 0 : Fill(demand.request, left, *bin);
      if (here == 0) break;
      left -= here;
      fate.pools.insert(*bin->pool);
    }
    fate.placed = fate.waiting - left - fate.sooner;
  }
  if (left > 0) fate.why = WhyNoMore(demand.request);
  return fate;
}

std::string Plan::WhyNoMore(const ResourceRequest& request) const {
  std::string why;
  bool is_any_large_enough = false;
  ResourceRequest rank = request;
  if (request.spread) rank.workers = 1;
  for (size_t pool = 0; pool < pools_.size(); ++pool) {
    if (!CouldHold(rank, pools_[pool])) continue;
    is_any_large_enough = true;
    why += (why.empty() ? "" : "; ") + pools_[pool].name +
           (IsResting(pool) ? " rests for " + FormatDuration(*pools_[pool].rests_until - now_) +
                                  ": " + pools_[pool].why_it_rests
                            : " has its max of " + std::to_string(pools_[pool].max));
  }
  if (is_any_large_enough) return why;
  return "no pool's workers are large enough: a trial needs " + DescribeRequest(request);
}

void Plan::FillUpToMin() {
  for (size_t pool = 0; pool < pools_.size(); ++pool) {
    while (counts_[pool] < pools_[pool].min && !IsResting(pool)) {
      ++counts_[pool];
      ++asked_[pool];
    }
  }
}

WantedWorkers Plan::Result(std::vector<DemandFate> fates) const {
  WantedWorkers wanted;
  wanted.ask = asked_;
  wanted.total = counts_;
  wanted.fates = std::move(fates);
  std::vector<const Bin*> idle;
  for (const Bin& bin : bins_) {
    if (!bin.pool || bin.name.empty() || bin.is_needed) continue;
    wanted.unneeded.insert(bin.name);
    if (!bin.is_away && bin.unneeded_since &&
        now_ >= *bin.unneeded_since + pools_[*bin.pool].idle) {
      idle.push_back(&bin);
    }
  }
  // A request that has not come goes before a worker that is there.
  std::stable_sort(idle.begin(), idle.end(), [](const Bin* a, const Bin* b) {
    return std::tuple(a->is_here, a->unneeded_since->us) <
           std::tuple(b->is_here, b->unneeded_since->us);
  });
  for (const Bin* const bin : idle) {
    if (wanted.total[*bin->pool] <= pools_[*bin->pool].min) continue;
    --wanted.total[*bin->pool];
    wanted.give_back.push_back(bin->name);
  }
  return wanted;
}

}  // namespace

WantedWorkers WorkersWanted(const std::vector<WorkerDemand>& demand,
                            const std::vector<PoolOffer>& pools,
                            const std::vector<RequestedWorker>& requested,
                            const std::vector<JoinedWorker>& joined, Instant now) {
  Plan plan(pools, now);
  plan.Add(requested, joined);
  std::vector<DemandFate> fates;
  fates.reserve(demand.size());
  for (const WorkerDemand& one : demand) fates.push_back(plan.Place(one));
  plan.FillUpToMin();
  return plan.Result(std::move(fates));
}

}  // namespace tune
