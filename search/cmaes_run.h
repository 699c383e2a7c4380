// One run of CMA-ES over a unit space, from its first distribution until it leads nowhere: what
// search/cmaes_searcher.h starts again and again.
//
// Thread rule: one thread.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "search/covariance_adaptation.h"
#include "search/unit_space.h"

namespace tune {

// Which dimensions of a unit space have an order, and the cells of those that have none.
struct CmaLayout {
  explicit CmaLayout(const UnitSpace& space);

  struct Choice {
    size_t dimension = 0;
    std::vector<UnitCell> cells;
  };
  std::vector<size_t> ordered;
  std::vector<Choice> choices;
  size_t dimensions() const { return ordered.size() + choices.size(); }
};

class CmaRun {
 public:
  struct Start {
    std::vector<double> point;  // Of the whole unit space.
    double sigma = 0;
    int64_t population = 0;
    bool with_margin = true;
  };
  struct Sample {
    Eigen::VectorXd x;           // Before it was stretched to keep the margins.
    std::vector<size_t> chosen;  // The cell of each choice.
    std::vector<double> point;   // Of the whole unit space.
  };

  // `space` must outlive the run. Requires at least one ordered dimension.
  CmaRun(const UnitSpace& space, const CmaLayout& layout, const Start& start);

  // What lies outside of the cube is reflected at its sides, and learned from where it was drawn:
  // Biedrzycki, "Handling Bound Constraints in CMA-ES: An Experimental Study", 2020.
  Sample Draw(KeyedRandom& random) const;
  // What became of a sample; infinity where it has no value. Every `population` of them the
  // distribution learns.
  void Tell(Sample sample, double loss);

  int64_t told_count() const { return told_count_; }
  int64_t population() const { return distribution_.population(); }
  // It has converged, or has found nothing better for long.
  bool IsOver() const;

 private:
  struct Told {
    Sample sample;
    double loss = 0;
  };

  void Learn();
  void LearnChoices();
  void KeepMargins();
  size_t Choose(size_t choice, double u) const;

  const UnitSpace& space_;
  const CmaLayout& layout_;
  bool with_margin_;
  CovarianceAdaptation distribution_;
  Eigen::VectorXd stretch_;                  // Of each ordered dimension; the paper's A.
  std::vector<std::vector<double>> shares_;  // Of each choice's cells.

  std::vector<Told> told_;  // Since the last generation.
  int64_t told_count_ = 0;
  double best_;
  int64_t best_generation_ = 0;
};

}  // namespace tune
