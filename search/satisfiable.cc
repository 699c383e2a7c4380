#include "search/satisfiable.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/random.h"
#include "search/combination_walk.h"

namespace tune {
namespace {

constexpr int64_t kDrawsMax = 100'000;
constexpr int64_t kFirstDraws = 100;
constexpr int64_t kCornersMax = 59'049;  // 3^10

// What was tried, and which constraints held at least once.
class Search {
 public:
  Search(const SearchSpace& space, const GivenValues& given)
      : space_(space),
        given_(given),
        constrained_(space.ConstrainedParameters()),
        is_constrained_(space.parameters().size()),
        has_held_(space.constraints().size()) {
    for (const size_t i : constrained_) is_constrained_[i] = true;
  }

  bool Run() {
    if (space_.constraints().empty()) return true;
    // Most spaces allow most configurations, and those of a large one may be far from its first.
    for (int64_t draw = 0; draw < kFirstDraws; ++draw) {
      if (IsAllowed(Draw(draw))) return true;
    }
    if (CombinationWalk::IsPossible(space_, constrained_, given_)) {
      CombinationWalk walk(space_, constrained_, given_);
      for (is_exact_ = true; walk.Next(); ++tried_) {
        if (tried_ == limits::kLeadingCombinationsMax) {
          is_exact_ = false;
          break;
        }
        if (IsAllowed(walk.ToConfiguration())) return true;
      }
      if (is_exact_) return false;
    }
    // The ends and middles of the first ten domains that are not given, then draws.
    bool is_new = true;
    for (int64_t corner = 0; corner < kCornersMax && is_new; ++corner) {
      if (IsAllowed(Corner(corner, is_new))) return true;
    }
    for (int64_t draw = kFirstDraws; draw < kDrawsMax; ++draw) {
      if (IsAllowed(Draw(draw))) return true;
    }
    return false;
  }

  Status Error() const {
    std::string names;
    for (const size_t i : constrained_) {
      names += (names.empty() ? "'" : ", '") + space_.parameters()[i].name + "'";
    }
    const auto never = std::find(has_held_.begin(), has_held_.end(), false);
    const bool is_one = never != has_held_.end();
    const Constraint& blamed =
        space_.constraints()[is_one ? static_cast<size_t>(never - has_held_.begin()) : 0];
    const std::string which =
        is_one ? "'" + blamed.text() + "' is never satisfied" : "they are never all satisfied";
    const std::string tried =
        is_exact_ ? "by none of the " + std::to_string(tried_) + " combinations of " + names
                  : "by none of " + std::to_string(kDrawsMax) +
                        " draws and the ends and middles of the domains of " + names;
    return InvalidAt(blamed.place(), "constraints: " + which + ", " + tried);
  }

 private:
  bool IsAllowed(const Configuration& configuration) {
    bool is_allowed = true;
    for (size_t i = 0; i < has_held_.size(); ++i) {
      const bool holds = space_.constraints()[i].IsSatisfied(configuration);
      if (holds) has_held_[i] = true;
      is_allowed = is_allowed && holds;
    }
    return is_allowed;
  }

  template <typename Choose>  // Value(size_t parameter, const Domain& domain)
  Configuration Assemble(Choose choose) const {
    return space_.Assemble([&](size_t i) {
      if (!given_.empty() && given_[i]) return *given_[i];
      // What no constraint looks at needs no value.
      if (!is_constrained_[i]) return Value();
      return choose(i, std::get<Domain>(space_.parameters()[i].content));
    });
  }

  // The digits of `corner` to the base 3 say which. `is_new` becomes false past the last one.
  Configuration Corner(int64_t corner, bool& is_new) const {
    int64_t rest = corner;
    Configuration configuration = Assemble([&](size_t, const Domain& domain) {
      const auto digit = static_cast<double>(rest % 3);
      rest /= 3;
      return domain.FromUnit(digit / 2);
    });
    is_new = rest == 0 || space_.has_conditions();
    return configuration;
  }

  Configuration Draw(int64_t draw) const {
    return Assemble([&](size_t i, const Domain& domain) {
      KeyedRandom random(0, "satisfiable", static_cast<uint64_t>(draw), i);
      return domain.Draw(random);
    });
  }

  const SearchSpace& space_;
  const GivenValues& given_;
  std::vector<size_t> constrained_;
  std::vector<bool> is_constrained_;
  std::vector<bool> has_held_;  // Each constraint.
  bool is_exact_ = false;
  int64_t tried_ = 0;
};

}  // namespace

Status CheckSatisfiable(const SearchSpace& space) {
  const GivenValues nothing;
  Search search(space, nothing);
  return search.Run() ? OkStatus() : search.Error();
}

bool IsSatisfiable(const SearchSpace& space, const GivenValues& given) {
  return Search(space, given).Run();
}

}  // namespace tune
