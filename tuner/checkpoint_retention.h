// Which checkpoints stay: of each trial the latest `keep`, and over the sweep the `keep_best` with
// the best values. Pure.
//
// Under a disk budget (the sum of their bytes) MeetBudget removes more, in this order:
//   1. what is neither its trial's latest nor among the best, lowest iteration first;
//   2. the best ones but for the very best, worst first;
//   3. the latest ones of trials that are over, worst first, those among the best last.
// Never the latest of a trial that is not over, which it would go on from, nor one that another
// trial is to go on from (Borrow), nor one that an attempt was told to go on from and may not have
// read yet (Pin), nor the very best: they stay even where the budget is then exceeded
// (is_over_budget).
//
// The latest is the one made last, which after a step back need not have the highest iteration.
// Ties in value go to the earlier trial, then the earlier iteration.
//
// Thread rule: one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"
#include "trial_runner/messages.h"
#include "tuner/experiment_spec.h"

namespace tune {

class CheckpointRetention {
 public:
  struct Entry {
    TrialNumber trial;
    int64_t iteration = 0;
    CheckpointRef ref;
    Metric value;         // The sweep's metric at that iteration.
    int64_t lineage = 0;  // How often the trial had exploited another when it was made.
  };

  CheckpointRetention(const CheckpointPolicy& policy, Mode mode);

  // Each returns the entries that need not stay any longer; for want of room only MeetBudget does.

  // Adds one, its trial's latest from now on. One of the same iteration and lineage (of an earlier
  // attempt) is replaced, and returned if its folder is another. A trial that exploits may come to
  // an iteration again, as another one: others go on from what it saved there before, or it is
  // among the best.
  std::vector<Entry> Add(const Entry& entry);
  // The trial will not go on: its latest is no longer needed for that. What a failed trial saved is
  // not among the best: others take its places.
  std::vector<Entry> OnTrialOver(TrialNumber trial, bool has_failed);

  // The borrower goes on from that checkpoint of another trial, which must be kept: it stays until
  // the borrower has one of its own or is over. In place of one borrowed before.
  // Requires that it is kept.
  std::vector<Entry> Borrow(TrialNumber borrower, TrialNumber owner, std::string_view path);

  // The reader was told to go on from that checkpoint, its own or another trial's: it stays until
  // Unpin, so that it is there when the reader's process opens it. In place of one pinned before.
  // One that is not kept is not pinned.
  void Pin(TrialNumber reader, TrialNumber owner, std::string_view path);
  std::vector<Entry> Unpin(TrialNumber reader);

  // It will go on after all, from Latest.
  std::vector<Entry> OnTrialReopened(TrialNumber trial);

  // It turned out to be damaged; the trial's latest is then the one before. Nothing: it was not
  // kept.
  std::optional<Entry> Drop(TrialNumber trial, std::string_view path);

  // Another rule from now on. What was removed under the one before does not come back.
  std::vector<Entry> ChangePolicy(const CheckpointPolicy& policy);

  // To be called once at the end of a step: what ended within it may have been opened again.
  std::vector<Entry> MeetBudget();

  // What the trial goes on from; null if it has none.
  const Entry* Latest(TrialNumber trial) const;
  // The kept one with that path, within the trial's folder; null if there is none.
  const Entry* Find(TrialNumber trial, std::string_view path) const;
  // The trial's checkpoint of that iteration and lineage if it is kept, else its latest; null if it
  // has none.
  const Entry* Nearest(TrialNumber trial, int64_t iteration, int64_t lineage) const;

  int64_t bytes() const { return bytes_; }
  bool is_over_budget() const {
    return policy_.disk_budget_bytes && bytes_ > *policy_.disk_budget_bytes;
  }

 private:
  struct Key {
    TrialNumber trial;
    int64_t iteration = 0;
    int64_t lineage = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key KeyOf(const Entry& entry) { return {entry.trial, entry.iteration, entry.lineage}; }
  // Best first.
  struct Ranked {
    double goodness = 0;  // The value, higher is better.
    Key key;
    friend bool operator<(const Ranked& a, const Ranked& b) {
      return a.goodness != b.goodness ? a.goodness > b.goodness : a.key < b.key;
    }
  };
  // What may go under the budget, first to go first.
  struct Removable {
    int step = 0;         // Of the order above.
    double goodness = 0;  // Low goes first; -infinity without a value.
    int64_t iteration = 0;
    TrialNumber trial;
    int64_t lineage = 0;
    friend auto operator<=>(const Removable&, const Removable&) = default;
  };
  struct Kept {
    Entry entry;
    std::optional<Removable> removable;  // As it stands in removable_.
  };
  using KeptList = std::vector<Kept>;  // Of one trial, in the order they were made.

  Ranked RankOf(const Entry& entry) const;
  bool IsAmongBest(const Entry& entry) const;
  std::optional<Removable> RemovableNow(const KeptList& own, const Kept& kept) const;
  void Insert(const Entry& entry);
  Entry Erase(Key key);
  void Rank(const Entry& entry);
  void Unrank(const Entry& entry);
  void RankAll(TrialNumber trial, void (CheckpointRetention::*rank)(const Entry&));
  void Classify(TrialNumber trial);
  void ClassifyFirstBest();
  bool IsInUse(Key key) const;  // Borrowed or pinned.
  void EndBorrowing(TrialNumber borrower, std::vector<Entry>& removed);
  void Prune(TrialNumber trial, std::vector<Entry>& removed);

  CheckpointPolicy policy_;
  Mode mode_;
  std::map<TrialNumber, KeptList> kept_;
  std::set<TrialNumber> over_;
  std::set<TrialNumber> failed_;
  std::map<TrialNumber, Key> borrowed_;  // By borrower.
  std::map<TrialNumber, Key> pinned_;    // By reader.
  std::set<Ranked> best_;                // At most keep_best.
  // Kept ones with a value, of trials that have not failed, that are not among the best.
  std::set<Ranked> other_;
  std::set<Removable> removable_;
  int64_t bytes_ = 0;
};

}  // namespace tune
