#include "tuner/alike_failures.h"

namespace tune {
namespace {

constexpr int64_t kRefusedMax = 3;
constexpr int64_t kFailedMax = 8;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string ErrorKind(std::string_view error) {
  error = error.substr(0, error.find(kLastPrinted));
  std::string kind;
  for (size_t i = 0; i < error.size();) {
    if (!IsDigit(error[i])) {
      kind += error[i++];
      continue;
    }
    // A number with its point and exponent: 12, 0.3, 1e-05.
    while (i < error.size()) {
      const bool has_next = i + 1 < error.size();
      const bool is_joint = has_next && (error[i] == '.' || error[i] == 'e') &&
                            (IsDigit(error[i + 1]) || error[i + 1] == '-' || error[i + 1] == '+');
      const bool is_sign = (error[i] == '-' || error[i] == '+') && error[i - 1] == 'e';
      if (!IsDigit(error[i]) && !is_joint && !is_sign) break;
      ++i;
    }
    kind += '#';
  }
  return kind;
}

bool AlikeFailures::Add(Outcome outcome, std::string_view error, std::optional<int64_t> max) {
  if (has_success_) return false;
  std::string kind = ErrorKind(error);
  count_ = kind == kind_ ? count_ + 1 : 1;
  kind_ = std::move(kind);
  if (max) return *max > 0 && count_ >= *max;
  return count_ >= (outcome == Outcome::kBadConfig ? kRefusedMax : kFailedMax);
}

}  // namespace tune
