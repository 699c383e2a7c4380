#include "tuner/checkpoint_retention.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tune {
namespace {

// The steps of the order in which a budget removes.
constexpr int kExtra = 1;
constexpr int kBest = 2;
constexpr int kLatestOfOver = 3;
constexpr int kBestLatestOfOver = 4;

}  // namespace

CheckpointRetention::CheckpointRetention(const CheckpointPolicy& policy, Mode mode)
    : policy_(policy), mode_(mode) {}

CheckpointRetention::Ranked CheckpointRetention::RankOf(const Entry& entry) const {
  return {-AsLoss(*entry.value, mode_), KeyOf(entry)};
}

bool CheckpointRetention::IsAmongBest(const Entry& entry) const {
  return entry.value && best_.contains(RankOf(entry));
}

std::optional<CheckpointRetention::Removable> CheckpointRetention::RemovableNow(
    const KeptList& own, const Kept& kept) const {
  const Entry& entry = kept.entry;
  const bool is_latest = &kept == &own.back();
  const bool is_best = IsAmongBest(entry);
  const bool is_first = is_best && best_.begin()->key == KeyOf(entry);
  if (is_first || (is_latest && !over_.contains(entry.trial))) return std::nullopt;
  if (IsInUse(KeyOf(entry))) return std::nullopt;
  Removable removable{kExtra, 0, entry.iteration, entry.trial, entry.lineage};
  if (!is_latest && !is_best) return removable;
  removable.step = !is_latest ? kBest : is_best ? kBestLatestOfOver : kLatestOfOver;
  removable.goodness = entry.value ? RankOf(entry).goodness : -HUGE_VAL;
  return removable;
}

// To be called for each trial for which something has changed.
void CheckpointRetention::Classify(TrialNumber trial) {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return;
  for (Kept& kept : found->second) {
    std::optional<Removable> now = RemovableNow(found->second, kept);
    if (now == kept.removable) continue;
    if (kept.removable) removable_.erase(*kept.removable);
    if (now) removable_.insert(*now);
    kept.removable = now;
  }
}

// The trials whose entries lead and end the list of the best: what changes there concerns them.
void CheckpointRetention::ClassifyFirstBest() {
  auto it = best_.begin();
  for (int i = 0; i < 2 && it != best_.end(); ++i, ++it) Classify(it->key.trial);
}

void CheckpointRetention::Rank(const Entry& entry) {
  if (!entry.value || failed_.contains(entry.trial)) return;
  best_.insert(RankOf(entry));
  if (static_cast<int64_t>(best_.size()) <= policy_.keep_best) return;
  const auto worst = std::prev(best_.end());
  const Key fallen = worst->key;
  other_.insert(best_.extract(worst));
  Classify(fallen.trial);
}

void CheckpointRetention::Unrank(const Entry& entry) {
  if (!entry.value || failed_.contains(entry.trial)) return;
  if (other_.erase(RankOf(entry)) > 0) return;
  best_.erase(RankOf(entry));
  if (other_.empty() || static_cast<int64_t>(best_.size()) >= policy_.keep_best) return;
  const Key risen = other_.begin()->key;
  best_.insert(other_.extract(other_.begin()));
  Classify(risen.trial);
}

void CheckpointRetention::RankAll(TrialNumber trial,
                                  void (CheckpointRetention::*rank)(const Entry&)) {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return;
  for (const Kept& kept : found->second) (this->*rank)(kept.entry);
}

void CheckpointRetention::Insert(const Entry& entry) {
  kept_[entry.trial].push_back({entry, std::nullopt});
  bytes_ += entry.ref.bytes;
  Rank(entry);
  Classify(entry.trial);
  ClassifyFirstBest();
}

CheckpointRetention::Entry CheckpointRetention::Erase(Key key) {
  KeptList& own = kept_.at(key.trial);
  const auto found = std::find_if(own.begin(), own.end(),
                                  [&](const Kept& kept) { return KeyOf(kept.entry) == key; });
  TUNE_CHECK(found != own.end());
  if (found->removable) removable_.erase(*found->removable);
  Entry entry = std::move(found->entry);
  own.erase(found);
  if (own.empty()) kept_.erase(key.trial);
  bytes_ -= entry.ref.bytes;
  Unrank(entry);
  Classify(key.trial);
  ClassifyFirstBest();
  return entry;
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::Add(const Entry& entry) {
  std::vector<Entry> removed;
  std::set<TrialNumber> affected = {entry.trial};
  if (!best_.empty()) affected.insert(std::prev(best_.end())->key.trial);  // It may fall off.
  const auto own = kept_.find(entry.trial);
  const bool replaces = own != kept_.end() &&
                        std::any_of(own->second.begin(), own->second.end(),
                                    [&](const Kept& k) { return KeyOf(k.entry) == KeyOf(entry); });
  if (replaces) {
    Entry replaced = Erase(KeyOf(entry));
    if (replaced.ref.path != entry.ref.path) removed.push_back(std::move(replaced));
    if (!best_.empty()) affected.insert(std::prev(best_.end())->key.trial);
  }
  Insert(entry);
  EndBorrowing(entry.trial, removed);
  for (const TrialNumber trial : affected) Prune(trial, removed);
  return removed;
}

// Of one trial what is older than its latest `keep` and not among the best.
void CheckpointRetention::Prune(TrialNumber trial, std::vector<Entry>& removed) {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return;
  const KeptList& own = found->second;
  const int64_t older = static_cast<int64_t>(own.size()) - policy_.keep;
  std::vector<Key> going;
  for (int64_t i = 0; i < older; ++i) {
    const Entry& entry = own[static_cast<size_t>(i)].entry;
    const Key key = KeyOf(entry);
    if (!IsAmongBest(entry) && !IsInUse(key)) going.push_back(key);
  }
  for (const Key& key : going) removed.push_back(Erase(key));
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::MeetBudget() {
  std::vector<Entry> removed;
  while (is_over_budget() && !removable_.empty()) {
    const Removable& first = *removable_.begin();
    removed.push_back(Erase({first.trial, first.iteration, first.lineage}));
  }
  return removed;
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::OnTrialOver(TrialNumber trial,
                                                                         bool has_failed) {
  std::vector<Entry> removed;
  over_.insert(trial);
  EndBorrowing(trial, removed);
  if (has_failed) {
    RankAll(trial, &CheckpointRetention::Unrank);
    failed_.insert(trial);
    Prune(trial, removed);
    ClassifyFirstBest();
  }
  Classify(trial);
  return removed;
}

bool CheckpointRetention::IsInUse(Key key) const {
  const auto is_key = [&](const auto& item) { return item.second == key; };
  return std::any_of(borrowed_.begin(), borrowed_.end(), is_key) ||
         std::any_of(pinned_.begin(), pinned_.end(), is_key);
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::Borrow(TrialNumber borrower,
                                                                    TrialNumber owner,
                                                                    std::string_view path) {
  std::vector<Entry> removed;
  const Entry* const entry = Find(owner, path);
  TUNE_CHECK(entry != nullptr);
  // First, as it may be of what is borrowed already.
  const auto before = borrowed_.extract(borrower);
  borrowed_[borrower] = KeyOf(*entry);
  if (!before.empty()) {
    Classify(before.mapped().trial);
    Prune(before.mapped().trial, removed);
  }
  Classify(owner);
  return removed;
}

void CheckpointRetention::EndBorrowing(TrialNumber borrower, std::vector<Entry>& removed) {
  const auto found = borrowed_.find(borrower);
  if (found == borrowed_.end()) return;
  const TrialNumber owner = found->second.trial;
  borrowed_.erase(found);
  Classify(owner);
  Prune(owner, removed);
}

void CheckpointRetention::Pin(TrialNumber reader, TrialNumber owner, std::string_view path) {
  const Entry* const entry = Find(owner, path);
  if (entry == nullptr) return;
  pinned_[reader] = KeyOf(*entry);
  Classify(owner);
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::Unpin(TrialNumber reader) {
  std::vector<Entry> removed;
  const auto pinned = pinned_.extract(reader);
  if (pinned.empty()) return removed;
  const TrialNumber owner = pinned.mapped().trial;
  Classify(owner);
  Prune(owner, removed);
  return removed;
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::OnTrialReopened(TrialNumber trial) {
  std::vector<Entry> removed;
  over_.erase(trial);
  if (failed_.erase(trial) > 0) {
    RankAll(trial, &CheckpointRetention::Rank);
    // Others may have fallen off the list of the best.
    std::vector<TrialNumber> all;
    for (const auto& [number, own] : kept_) all.push_back(number);
    for (const TrialNumber number : all) Prune(number, removed);
    ClassifyFirstBest();
  }
  Classify(trial);
  return removed;
}

std::vector<CheckpointRetention::Entry> CheckpointRetention::ChangePolicy(
    const CheckpointPolicy& policy) {
  std::vector<Entry> removed;
  policy_ = policy;
  const auto size = [](const std::set<Ranked>& ranked) {
    return static_cast<int64_t>(ranked.size());
  };
  while (size(best_) > policy_.keep_best) other_.insert(best_.extract(std::prev(best_.end())));
  while (size(best_) < policy_.keep_best && !other_.empty()) {
    best_.insert(other_.extract(other_.begin()));
  }
  std::vector<TrialNumber> all;
  for (const auto& [trial, own] : kept_) all.push_back(trial);
  for (const TrialNumber trial : all) {
    Prune(trial, removed);
    Classify(trial);
  }
  return removed;
}

std::optional<CheckpointRetention::Entry> CheckpointRetention::Drop(TrialNumber trial,
                                                                    std::string_view path) {
  const Entry* const entry = Find(trial, path);
  if (entry == nullptr) return std::nullopt;
  return Erase(KeyOf(*entry));
}

const CheckpointRetention::Entry* CheckpointRetention::Find(TrialNumber trial,
                                                            std::string_view path) const {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return nullptr;
  const std::string end = "/" + std::string(path);
  for (const Kept& kept : found->second) {
    if (kept.entry.ref.path.ends_with(end)) return &kept.entry;
  }
  return nullptr;
}

const CheckpointRetention::Entry* CheckpointRetention::Latest(TrialNumber trial) const {
  const auto found = kept_.find(trial);
  return found == kept_.end() ? nullptr : &found->second.back().entry;
}

const CheckpointRetention::Entry* CheckpointRetention::Nearest(TrialNumber trial, int64_t iteration,
                                                               int64_t lineage) const {
  const auto found = kept_.find(trial);
  if (found == kept_.end()) return nullptr;
  for (const Kept& kept : found->second) {
    if (kept.entry.iteration == iteration && kept.entry.lineage == lineage) return &kept.entry;
  }
  return &found->second.back().entry;
}

}  // namespace tune
