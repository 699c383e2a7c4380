// Where in a space an acquisition (search/gp/acquisition.h) is greatest.
// Points spread over the space and neighbours of the best trials are looked at. Where constraints
// forbid some of the spread ones, allowed ones are drawn in their place, as many as can be found;
// not in sweeps before SearchRules::kFrom16. From the best of all numbers climb along the slope,
// and parameters with few values are tried value by value, in turns.
//
// What the surrogate sees of a configuration is a point: for each dimension the middle of its cell.
// A number that is not part of it stands at 0.5, and a choice that is not is unlike all of its
// values; that they are missing is told by the parameters that decide it.
//
// Thread rule: immutable; the space must outlive it.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "core/random.h"
#include "search/belief.h"
#include "search/gp/acquisition.h"
#include "search/gp/gaussian_process.h"
#include "search/searcher.h"
#include "search/sobol_sequence.h"
#include "search/unit_space.h"

namespace tune {

class AcquisitionSearch {
 public:
  explicit AcquisitionSearch(const UnitSpace& space, SearchRules rules = SearchRules::kFrom16);

  const CategoryFlags& is_category() const { return is_category_; }
  const Beliefs& beliefs() const { return beliefs_; }
  Eigen::VectorXd PointOf(const UnitCells& cells) const;

  // What one suggestion looks for.
  struct Aim {
    const Acquisition& acquisition;
    std::vector<Eigen::VectorXd> pending = {};  // Where trials run that will tell as much.
    double belief = 0;                          // The weight of what a person guessed; 0: none.
  };

  // Configurations that the constraints allow, apart from the pending ones, the most promising
  // first. `incumbents`: points to look around.
  std::vector<Configuration> Promising(const Aim& aim,
                                       const std::vector<Eigen::VectorXd>& incumbents,
                                       KeyedRandom random) const;

  // The points that Promising looks at, and those that it climbs to; allowed ones alone. Nothing
  // where hardly any were found but for the neighbours of the incumbents.
  std::optional<Points> Looked(const Aim& aim, const std::vector<Eigen::VectorXd>& incumbents,
                               KeyedRandom random) const;

 private:
  struct Candidate {
    Eigen::VectorXd unit;  // In the unit space; more than one have the same configuration.
    Configuration configuration;
    UnitCells cells;
    double value = 0;  // Minus infinity: not allowed, or not apart.
  };
  struct Scatter {
    std::vector<Eigen::VectorXd> units;
    size_t spread_count = 0;  // Of them; the others are neighbours.
  };
  // The best first, and the first few climbed.
  std::vector<Candidate> Climbed(const Aim& aim, std::vector<Eigen::VectorXd> units) const;
  std::vector<Candidate> CandidatesAt(const Aim& aim, std::vector<Eigen::VectorXd> units) const;
  Scatter Scattered(const std::vector<Eigen::VectorXd>& incumbents, KeyedRandom random) const;
  void FillUp(std::vector<Eigen::VectorXd>& units, KeyedRandom& random) const;
  Eigen::VectorXd NearTo(const Eigen::VectorXd& incumbent, KeyedRandom& random) const;
  void Climb(const Aim& aim, Candidate& candidate) const;
  // Whether another value of some parameter was better.
  bool TryValues(const Aim& aim, Candidate& candidate) const;
  // Of the point of `candidate` with other numbers: the acquisition, and what is believed.
  double ValueAt(const Aim& aim, const Candidate& candidate, const Eigen::VectorXd& point,
                 Eigen::VectorXd& slope) const;

  const UnitSpace& space_;
  SearchRules rules_;
  Beliefs beliefs_;
  SobolSequence sobol_;
  CategoryFlags is_category_;
  // Of a dimension with few values the middles of their cells: they are tried, others climb.
  std::vector<std::vector<double>> values_;
};

}  // namespace tune
