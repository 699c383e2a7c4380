// Points that fill the space evenly: trial n has point n of a scrambled Sobol sequence, each
// parameter with a domain one dimension, in the order of the file. Whatever the first 2^k trials,
// they are spread better than random ones, and more of them only fill the gaps.
//
// A point that the constraints do not allow is replaced by the draw that random search has for this
// trial. Parameters beyond SobolSequence::kDimensionsMax are drawn at random too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "search/searcher.h"
#include "search/sobol_sequence.h"
#include "search/unit_space.h"

namespace tune {

class SobolSearcher final : public Searcher {
 public:
  // `random`: what takes the place of points that are not allowed.
  SobolSearcher(UnitSpace space, bool scramble, uint64_t seed, std::unique_ptr<Searcher> random);

  std::optional<Configuration> Suggest(TrialNumber number) override;
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override;

 private:
  double Coordinate(size_t dimension, TrialNumber number) const;

  UnitSpace space_;
  SobolSequence sequence_;
  bool scramble_;
  uint64_t seed_;
  std::unique_ptr<Searcher> random_;
};

// {algorithm: sobol, scramble: true}. `scramble: false` gives the plain sequence, which begins in
// the corner of all the lowest values and does not depend on the seed.
Result<std::unique_ptr<Searcher>> MakeSobolSearcher(const Value& options,
                                                    const SearchProblem& problem);

}  // namespace tune
