#include "tuner/cli/head/head_pools.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/json.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/cli/head/cluster_lines.h"
#include "tuner/engines/cluster_change.h"
#include "tuner/engines/demand.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLookAtPoolsEvery = Milliseconds(100);
constexpr int64_t kLookShare = 20;  // A look takes at most this part of the time.
constexpr Duration kRenewTokenAgain = Seconds(60);
constexpr int64_t kPromisedMax = 64;  // Of a pool: as many as ranks of a trial may need.

// "tune worker --connect HOST:PORT --join TOKEN"
std::pair<std::string, std::string> ReadJoinLine(const std::string& line) {
  constexpr std::string_view kConnect = "--connect ", kJoin = " --join ";
  const size_t connect = line.find(kConnect) + kConnect.size();
  const size_t join = line.find(kJoin, connect);
  return {line.substr(connect, join - connect), line.substr(join + kJoin.size())};
}

}  // namespace

Result<std::unique_ptr<HeadPools>> HeadPools::Open(Parts parts) {
  std::unique_ptr<HeadPools> pools(new HeadPools(std::move(parts)));
  Parts& own = pools->parts_;
  TUNE_ASSIGN_OR_RETURN(pools->state_, ClusterState::OpenOrMake(own.artifacts_dir, own.cluster));
  pools->book_.emplace(own.cluster, pools->state_->Prefix());
  if (!pools->state_->pools().is_null()) {
    TUNE_RETURN_IF_ERROR(pools->book_->Restore(pools->state_->pools(), own.clock.Now()));
  }
  WorkerInvitation invitation;
  const auto [connect, token] = ReadJoinLine(own.doors.join_line());
  invitation.connect = own.cluster.head.address.empty() ? connect : own.cluster.head.address;
  TUNE_ASSIGN_OR_RETURN(invitation.token_path, pools->state_->KeepToken(token));
  pools->renew_token_at_ = own.clock.Now() + Duration{own.token_validity.us / 2};
  pools->desk_.emplace(MakeEngines(own.cluster, *pools->state_, own.program_dir), invitation,
                       own.clock, [&queue = own.queue] { queue.Wake(); });
  pools->Promise();
  return pools;
}

// A trial that a pool's worker could hold waits for it, however long a queue is.
void HeadPools::Promise() {
  std::vector<WorkerCapacity> capacities;
  bool any = false;
  for (size_t i = 0; i < parts_.cluster.pools.size(); ++i) {
    const std::optional<WorkerCapacity>& capacity = book_->pools()[i].capacity;
    any = any || !capacity;
    const int64_t count = capacity ? std::min(parts_.cluster.pools[i].max, kPromisedMax) : 0;
    for (int64_t n = 0; n < count; ++n) capacities.push_back(*capacity);
  }
  if (book_->is_closing()) {
    capacities.clear();
    any = true;  // They wait for the next time that the cluster is up.
  }
  parts_.controller.Promise(std::move(capacities), any);
}

// A head lives longer than a token is valid.
void HeadPools::LookAtToken(Instant now) {
  if (now < renew_token_at_) return;
  const auto renew = [&]() -> Status {
    TUNE_ASSIGN_OR_RETURN(const TlsFolder folder,
                          TlsFolder::Open(TlsFolderOf(parts_.artifacts_dir)));
    TUNE_ASSIGN_OR_RETURN(const NewToken token, MakeToken(folder, now, parts_.token_validity));
    return state_->KeepToken(token.text).status();
  };
  if (const Status renewed = renew(); !renewed.ok()) {
    lines_.push_back("no new token for workers of the pools: " + renewed.message());
    renew_token_at_ = now + kRenewTokenAgain;
    return;
  }
  renew_token_at_ = now + Duration{parts_.token_validity.us / 2};
}

Status HeadPools::Look() {
  desk_->Report(*book_);
  const Instant now = parts_.clock.Now();
  if (now < look_again_at_) return OkStatus();
  LookAtToken(now);
  PoolOrders orders =
      book_->Look(DemandOf(parts_.controller, now), JoinedOf(parts_.controller), now);
  const Duration took = parts_.clock.Now() - now;
  look_again_at_ = now + std::max(kLookAtPoolsEvery, Duration{kLookShare * took.us});
  lines_.insert(lines_.end(), orders.say.begin(), orders.say.end());
  TUNE_RETURN_IF_ERROR(Drain(orders.drain));
  Promise();
  const bool is_to_be_kept = orders.is_changed || held_;
  if (held_) {
    held_->Append(std::move(orders));
  } else {
    held_ = std::move(orders);
  }
  if (is_to_be_kept) {
    if (const Status kept = state_->Keep(book_->Encode()); !kept.ok()) {
      if (!std::exchange(is_write_failing_, true)) {
        lines_.push_back("nothing is asked of engines until it can be written down: " +
                         kept.message());
      }
      return OkStatus();
    }
  }
  is_write_failing_ = false;
  desk_->Order(*std::exchange(held_, std::nullopt));
  return OkStatus();
}

Status HeadPools::Drain(const std::vector<std::string>& names) {
  if (names.empty()) return OkStatus();
  std::vector<HeadEvent> events;
  const Cluster& cluster = parts_.controller.cluster();
  for (const WorkerView& view : cluster.leases().Views()) {
    const std::string name = cluster.workers().NameOf(view.worker);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    events.push_back({WorkerDrainRequested{view.worker}, {}});
  }
  return events.empty() ? OkStatus() : parts_.tuner.Take(events);
}

std::string HeadPools::Describe() const {
  return EncodeCluster(parts_.cluster, parts_.path, *book_, parts_.clock.Now());
}

std::map<std::string, std::string> HeadPools::DescribeWaits() const {
  return WhatPoolsDo(parts_.cluster, *book_, parts_.clock.Now());
}

Result<std::vector<std::string>> HeadPools::Change(const std::string& file,
                                                   const std::string& document) {
  if (book_->is_closing()) return FailedPrecondition("the cluster goes down; wait until it is");
  TUNE_ASSIGN_OR_RETURN(const Value says, ParseJson(document));
  TUNE_ASSIGN_OR_RETURN(const ClusterSpec wanted,
                        InterpretCluster(says, file, fs::path(file).parent_path().string()));
  ClusterChange change = CompareClusters(parts_.cluster, wanted);
  if (!change.others.empty()) {
    std::string named;
    for (const std::string& other : change.others) named += (named.empty() ? "" : ", ") + other;
    return InvalidArgument(file + ": differs from what the cluster is up with: " + named +
                           "; while it is up, min, max, idle and join_timeout of pools can change: "
                           "put the rest back, or take the cluster down first");
  }
  if (change.settings.empty()) return change.settings;
  ApplySettings(wanted, parts_.cluster);
  state_->Remember(parts_.cluster);
  if (const Status kept = state_->Keep(book_->Encode()); !kept.ok()) {
    lines_.push_back("the cluster's folder does not remember the changed file: " + kept.message());
  }
  return change.settings;
}

std::vector<std::string> HeadPools::TakeLines() { return std::exchange(lines_, {}); }

}  // namespace tune
