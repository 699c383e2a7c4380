#include "core/resource_text.h"

#include "core/resources.h"

namespace tune {
namespace {

// With one digit after the point, rounded down, where it is not 0.
std::string Tenths(int64_t bytes, int64_t unit) {
  const int64_t tenth = bytes % unit / (unit / 10);
  return std::to_string(bytes / unit) +
         (tenth == 0 || tenth == 10 ? "" : "." + std::to_string(tenth));
}

}  // namespace

std::string DescribeShare(int64_t milli) {
  std::string text = std::to_string(milli / kWholeMilli);
  int64_t rest = milli % kWholeMilli;
  if (rest == 0) return text;
  std::string digits = std::to_string(rest + kWholeMilli).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

std::string DescribeMemory(int64_t bytes) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  constexpr int64_t kGiB = int64_t{1} << 30;
  if (bytes < kMiB) return std::to_string(bytes) + " bytes";
  if (bytes < kGiB) return Tenths(bytes, kMiB) + " MiB";
  return Tenths(bytes, kGiB) + " GiB";
}

}  // namespace tune
