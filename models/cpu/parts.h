// Work cut into a fixed number of parts, each a contiguous range, run by as many threads as there
// are. What a part does never depends on which thread runs it, so results have the same bits each
// time.
#pragma once

#include <cstdint>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace tune::models::cpu {

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented: what its threads hand to each other looks like a race. Threads that
// the sanitizer knows show the parts' own.
template <class F>
void ForParts(int parts, F&& f) {
  std::vector<std::jthread> others;
  for (int part = 1; part < parts; ++part) others.emplace_back([&f, part] { f(part); });
  f(0);
}
#else
template <class F>
void ForParts(int parts, F&& f) {
  if (parts == 1) return f(0);
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) f(part);
}
#endif

// The first of `count` items that belongs to `part`; the part's end is the next one's beginning.
inline int64_t PartBegin(int64_t count, int part, int parts) { return count * part / parts; }

}  // namespace tune::models::cpu
