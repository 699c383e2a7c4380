#include "core/nearest_name.h"

#include <algorithm>
#include <vector>

namespace tune {
namespace {

// Names are short; what is longer than this was not mistyped.
constexpr size_t kLengthMax = 100;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "val_acc" of "val_accuracy".
bool IsShortened(std::string_view shorter, std::string_view name) {
  constexpr size_t kLengthMin = 3;
  return shorter.size() >= kLengthMin && shorter.size() < name.size() && name.starts_with(shorter);
}

}  // namespace

size_t EditDistance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: the present one and, for swaps, the two before.
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
          Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::optional<std::string_view> NearestName(std::string_view read,
                                            std::span<const std::string_view> known) {
  if (read.size() > kLengthMax) return std::nullopt;
  std::optional<std::string_view> nearest;
  size_t nearest_distance = 0;
  for (const std::string_view name : known) {
    const size_t distance = EditDistance(read, name);
    const size_t longer = std::max(read.size(), name.size());
    const bool is_near = (distance <= std::max<size_t>(2, longer / 3) && distance < longer) ||
                         IsShortened(read, name) || IsShortened(name, read);
    if (is_near && (!nearest || distance < nearest_distance)) {
      nearest = name;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view read, std::span<const std::string_view> known) {
  if (const auto nearest = NearestName(read, known)) {
    return "; did you mean '" + std::string(*nearest) + "'?";
  }
  std::string message;
  for (const std::string_view name : known) {
    message += message.empty() ? "; known are " : ", ";
    message += name;
  }
  return message;
}

}  // namespace tune
