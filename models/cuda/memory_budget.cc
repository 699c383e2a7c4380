#include "models/cuda/memory_budget.h"

#include <algorithm>
#include <charconv>

namespace tune::models::cuda {

MemoryBudget BudgetOfShare(const std::string& bytes) {
  int64_t share = 0;
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), share);
  const bool is_number = error == std::errc() && end == bytes.data() + bytes.size() && share > 0;
  if (!is_number) return MemoryBudget();
  return MemoryBudget(std::max<int64_t>(1, share - MemoryBudget::kContextBytes));
}

}  // namespace tune::models::cuda
