#include "core/utf8.h"

#include <cstdint>

namespace tune {
size_t Utf8CharacterBytes(std::string_view text) {
  const auto byte = [text](size_t i) -> uint8_t { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  if (first == 0xe0 && second < 0xa0) return 0;   // Overlong.
  if (first == 0xed && second >= 0xa0) return 0;  // Surrogates.
  if (first == 0xf0 && second < 0x90) return 0;   // Overlong.
  if (first == 0xf4 && second >= 0x90) return 0;  // Above U+10FFFF.
  return length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    if (length == 0) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace tune
