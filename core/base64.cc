#include "core/base64.h"

#include <cstdint>

namespace tune {
namespace {

std::string_view DigitsOf(Base64 form) {
  return form == Base64::kPadded
             ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
             : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
}

}  // namespace

std::string EncodeBase64(std::string_view bytes, Base64 form) {
  const std::string_view digits = DigitsOf(form);
  std::string text;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += digits[held << (6 - bits) & 63];
  while (form == Base64::kPadded && text.size() % 4 != 0) text += '=';
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text, Base64 form) {
  const std::string_view digits = DigitsOf(form);
  std::string bytes;
  uint32_t held = 0;
  int bits = 0;
  size_t count = 0, padding = 0;
  for (const char c : text) {
    const bool is_blank = c == '\n' || c == '\r' || c == ' ' || c == '\t';
    if (is_blank && form == Base64::kPadded) continue;
    ++count;
    if (c == '=' && form == Base64::kPadded) {
      ++padding;
      continue;
    }
    const size_t digit = digits.find(c);
    if (digit == std::string_view::npos || padding > 0) return std::nullopt;
    held = held << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  // What is left of the last digit says nothing, and is 0: each text has one form.
  const bool is_whole = form == Base64::kPadded ? count % 4 == 0 && padding <= 2 : count % 4 != 1;
  const bool has_rest = bits >= 6 || (held & ((1u << bits) - 1)) != 0;
  if (!is_whole || has_rest) return std::nullopt;
  return bytes;
}

}  // namespace tune
