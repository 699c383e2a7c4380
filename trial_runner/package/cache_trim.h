// Keeps the cache of a machine's user (package_store.h) within a budget: of packages, of what
// `setup` made, of data (bucket/bucket_data.h) and of artifacts, what was used least goes first.
// What a process holds stays, and so do artifacts that were written within the last day: their
// trials may run.
//
// Thread rule: any thread, also beside workers that use the cache.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/time.h"

namespace tune {

inline constexpr int64_t kCacheBudgetBytes = int64_t{50} << 30;

struct TrimmedPath {
  std::string path;
  int64_t bytes = 0;
  std::string reason;
};

// Removes, or with `dry_run` only tells of: packages that broke off on their way and that nobody
// fetches any more, and what is beyond the budget. A cache that is not there has nothing. Once
// `stop` is requested nothing more is looked at, and no other folder is removed.
std::vector<TrimmedPath> TrimCache(const std::string& cache, int64_t budget_bytes, Instant now,
                                   bool dry_run = false, std::stop_token stop = {});

}  // namespace tune
