// Around a searcher that does not learn: no configuration twice. A trial whose configuration was
// had before gets a random one in its place (random_draws.h); what it gets then depends on the
// trials before it. The space is exhausted when each of its configurations was had (a continuous
// one never is); where a space is too large to enumerate, when kAttemptsMax draws bring nothing
// new.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "search/grid.h"
#include "search/random_draws.h"
#include "search/searcher.h"

namespace tune {

class UniqueSearcher final : public Searcher {
 public:
  // `counts_history`: whether what an earlier sweep tried (restored under numbers below 0) was had.
  UniqueSearcher(std::unique_ptr<Searcher> inner, SearchSpace space, uint64_t seed,
                 bool counts_history);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber number, const Configuration& configuration) override;
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  // Whether it was not there before.
  bool Remember(const Configuration& configuration);

  std::unique_ptr<Searcher> inner_;
  RandomDraws draws_;
  bool counts_history_;
  std::optional<Grid> combinations_;  // All of them, where they can be counted.
  int64_t next_combination_ = 0;      // Those before it are all seen.
  std::set<std::string> seen_;        // Flat JSON.
};

}  // namespace tune
