// Where a parameter's value is drawn from. The names are Ray's; where Ray's draws are uneven at the
// ends, these are exact:
//
//   uniform [lo, hi)          randint    integers of [lo, hi)       equal mass
//   loguniform [lo, hi)       lograndint integers of [lo, hi)       uniform logarithm; n has the
//   mass of [n, n + 1) quniform, qrandint        multiples of q in [lo, hi]            equal mass,
//   both ends too qloguniform, qlograndint  multiples of q in [lo, hi]            x has the mass of
//   [x - q/2, x + q/2) on the log scale randn                     normal qrandn: x has the mass of
//   [x - q/2, x + q/2) choice (weights), ordinal, grid_search: one of a list; equal mass, or in
//   proportion to the weights
//
// lo and hi of a quantised domain must be multiples of q: lo / q may be off an integer by one part
// in 10^9, so that 0.3 is a multiple of 0.1. Grid points are the doubles nearest to the decimal
// multiples: 3 * 0.1 is 0.3. The int forms give integers, uniform, loguniform, randn and their q
// forms give doubles, lists give their items as they are.
//
// Thread rule: immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

// The numbers of [0, 1] that stand for a value; lo == hi for one of a continuous domain.
struct UnitCell {
  double lo = 0;
  double hi = 0;
  double mid() const { return lo + (hi - lo) / 2; }
  friend bool operator==(const UnitCell&, const UnitCell&) = default;
};

// Whether the two are equal, or numbers of equal size: 1 and 1.0.
bool IsSameValue(const Value& a, const Value& b);

// The first few, for messages: "adam", "sgd", 3, ...
std::string ShownList(const std::vector<Value>& values);

class Domain {
 public:
  enum class Kind {
    kUniform,
    kQUniform,
    kLogUniform,
    kQLogUniform,
    kRandInt,
    kQRandInt,
    kLogRandInt,
    kQLogRandInt,
    kRandN,
    kQRandN,
    kChoice,
    kOrdinal,
    kGridSearch,
  };

  // "uniform", "quniform", ...
  static std::span<const std::string_view> Names();

  // `map`: {uniform: [0, 1]}, {choice: [a, b], weights: [1, 2]}, {uniform: [0, 1], guess: 0.3};
  // `when` is not looked at. Errors carry "line:column: ".
  static Result<Domain> Parse(const Value& map);

  Kind kind() const { return kind_; }
  // The domain's own value about which a person believes the best one lies (search/belief.h).
  const std::optional<Value>& guess() const { return guess_; }
  std::string_view name() const;
  // As a space file writes it, long lists cut: "uniform: [0, 0.5]".
  std::string ToText() const;

  Value Draw(KeyedRandom& random) const;

  // How many values there are and each of them, in rising order or the list's; nothing for a
  // continuous domain and for qrandn, which has no ends.
  std::optional<uint64_t> Count() const;
  Value At(uint64_t index) const;

  // The least and the greatest value; of uniform and loguniform as the file has them, though the
  // upper one is never drawn. Nothing for lists and the normal ones.
  std::optional<std::pair<double, double>> Ends() const;

  // The domain as [0, 1], where equal lengths have equal mass: FromUnit of a uniform draw has the
  // distribution of Draw, and rises with u (lists: in their order). Requires 0 <= u <= 1.
  Value FromUnit(double u) const;
  // The other way; nothing for a value that is not in the domain. 2.0 counts as the integer 2.
  std::optional<UnitCell> ToUnit(const Value& value) const;
  // Of At(index): ToUnit would look for it among all values. Requires the same.
  UnitCell CellAt(uint64_t index) const;
  // The domain's own value that is the same: 2.0 gives the integer 2, 1 in a uniform domain 1.0.
  // Nothing for one that is not in the domain.
  std::optional<Value> OwnValue(const Value& value) const;
  // Whether near in [0, 1] means alike: numbers and ordinal; not choice and grid_search.
  bool is_ordered() const { return kind_ < Kind::kChoice || kind_ == Kind::kOrdinal; }
  // choice, ordinal and grid_search.
  bool is_list() const { return kind_ >= Kind::kChoice; }
  // Whether FromUnit has only so many values: lists, integers, the quantised ones.
  bool is_discrete() const { return is_list() || is_integer() || is_quantised(); }

 private:
  Status ReadList(const Value& map);
  Status ReadWeights(const Value& weights);
  Status ReadGuess(const Value& guess);
  Status ReadNumbers(const Value& arguments);
  Status SetGrid(const Value& arguments);
  Status SetIntegerGrid(const Value& arguments);
  Status SetQuantisedGrid(const Value& arguments);

  bool is_integer() const { return kind_ >= Kind::kRandInt && kind_ <= Kind::kQLogRandInt; }
  bool is_normal() const { return kind_ == Kind::kRandN || kind_ == Kind::kQRandN; }
  bool is_log() const;
  bool is_quantised() const;
  Value GridValue(int64_t multiple) const;
  // Which grid point `value` is; nothing for one that is none.
  std::optional<int64_t> MultipleFor(const Value& value) const;
  int64_t DrawMultiple(KeyedRandom& random) const;
  // The cell of grid multiple k, or the place of x on the scale; of the log and normal forms too.
  UnitCell CellOf(int64_t multiple) const;
  double UnitOf(double x) const;
  double ScaleLo() const;  // The ends of the scale that [0, 1] is linear in.
  double ScaleHi() const;

  Kind kind_ = Kind::kUniform;
  double lo_ = 0;  // Or the mean.
  double hi_ = 0;  // Or the deviation.
  double q_ = 1;
  // Grids are the multiples first_ .. last_ of a step: q, or 1 for plain integers. A decimal step
  // is step_digits_ / step_divisor_; the divisor is 0 where q has too many digits for that, and q_
  // itself is multiplied.
  int64_t first_ = 0;
  int64_t last_ = 0;
  int64_t step_digits_ = 1;
  double step_divisor_ = 1;
  std::vector<Value> values_;
  std::vector<double> cumulative_;  // Of the weights; empty: all alike.
  std::optional<Value> guess_;
};

}  // namespace tune
