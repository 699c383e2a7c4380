// "did you mean": the known name nearest to one that was mistyped.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tune {

// How many insertions, deletions, replacements and swaps of neighbours lead from one to the other,
// letter case counting as nothing (optimal string alignment; Oommen and Loke 1997).
size_t EditDistance(std::string_view a, std::string_view b);

// The first of the nearest names, if it is near enough to be meant: at most a third of its letters
// differ (two always may, if one letter at least is alike), or one is the other's beginning.
std::optional<std::string_view> NearestName(std::string_view read,
                                            std::span<const std::string_view> known);

// The end of an error message: "; did you mean 'samples'?", or "; known are a, b, c" where nothing
// is near.
std::string DidYouMean(std::string_view read, std::span<const std::string_view> known);

}  // namespace tune
