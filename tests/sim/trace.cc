#include "tests/sim/trace.h"

#include <cstdio>
#include <cstring>

namespace tune::sim {

void Trace::Fold(std::string_view what, std::initializer_list<int64_t> numbers,
                 std::string_view bytes) {
  constexpr size_t kNumbersMax = 16;
  int64_t words[kNumbersMax + 2] = {happenings_.now().us, static_cast<int64_t>(what.size())};
  size_t count = 2;
  for (const int64_t number : numbers) {
    if (count < kNumbersMax + 2) words[count++] = number;
  }
  hash_ =
      Xxh64(std::string_view(reinterpret_cast<const char*>(words), count * sizeof words[0]), hash_);
  hash_ = Xxh64(what, hash_);
  if (!bytes.empty()) hash_ = Xxh64(bytes, hash_);
}

void Trace::Note(std::string_view what, std::initializer_list<int64_t> numbers,
                 std::string_view bytes) {
  Fold(what, numbers, bytes);
  if (!is_verbose_) return;
  std::string line(what);
  for (const int64_t number : numbers) line += " " + std::to_string(number);
  Print(line);
}

void Trace::Print(const std::string& line) const {
  std::printf("%12.6f  %s\n", (happenings_.now() - start_).seconds(), line.c_str());
}

void Trace::Fail(const std::string& finding) {
  if (!finding_.empty()) return;
  finding_ = finding;
  if (is_verbose_) Print("FOUND: " + finding);
}

}  // namespace tune::sim
