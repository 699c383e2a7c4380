#include "core/utf8.h"

#include <cstdint>
#include <cstdio>

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

uint32_t NextCodePoint(std::string_view text, size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  uint32_t code = first & (0x3f >> more);
  for (int i = 0; i < more && at < text.size(); ++i)
    code = (code << 6) | (static_cast<unsigned char>(text[at++]) & 0x3f);
  return code;
}

namespace {

// Turns around what stands beside it (Unicode's property Bidi_Control).
bool IsBidiControl(uint32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Takes no room and changes nothing: two texts that differ by it look the same.
bool IsUnseen(uint32_t code) {
  return code == 0xad || code == 0x200b || code == 0x2060 || code == 0xfeff;
}

bool IsEscaped(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || IsBidiControl(code) || IsUnseen(code);
}

}  // namespace

std::string Printable(std::string_view text) {
  const std::string valid = ToUtf8(text);
  std::string out;
  out.reserve(valid.size());
  for (size_t at = 0; at < valid.size();) {
    const size_t begin = at;
    const uint32_t code = NextCodePoint(valid, at);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (IsEscaped(code)) {
      char escape[16];
      std::snprintf(escape, sizeof escape, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
      out += escape;
    } else {
      out.append(valid, begin, at - begin);
    }
  }
  return out;
}

std::string PrintableLines(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t newline = text.find('\n');
    out += Printable(text.substr(0, newline));
    if (newline == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(newline + 1);
  }
}

}  // namespace tune
