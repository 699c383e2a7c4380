#include "models/cuda/memory_budget.h"

#include <algorithm>
#include <charconv>

namespace tune::models::cuda {

int64_t CapOfShare(int64_t bytes) {
  return bytes == 0 ? 0 : std::max<int64_t>(1, bytes - MemoryBudget::kContextBytes);
}

MemoryBudget BudgetOfShare(const std::string& bytes) {
  int64_t share = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), share);
  const bool is_number = error == std::errc() && end == bytes.data() + bytes.size() && share > 0;
  return MemoryBudget(is_number ? CapOfShare(share) : 0);
}

}  // namespace tune::models::cuda
