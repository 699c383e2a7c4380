// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tune {

// The length of the valid character at the front of `text`, which is not empty; 0 if there is none.
size_t Utf8CharacterBytes(std::string_view text);

bool IsUtf8(std::string_view text);

// The text with '?' in place of each byte that belongs to no valid character.
std::string ToUtf8(std::string_view text);
// The code point that begins at `at`, in valid UTF-8; moves past it.
uint32_t NextCodePoint(std::string_view text, size_t& at);
// Valid UTF-8, and control characters (also escape sequences, those that turn the order of letters
// around, and those that take no room) made visible: nothing a trial printed moves the cursor, or
// looks like another text. As web/src/printable.ts has it.
std::string Printable(std::string_view text);
// The same of a text of several lines: its newlines stay.
std::string PrintableLines(std::string_view text);

}  // namespace tune
