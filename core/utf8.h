// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tune {

// The length of the valid character at the front of `text`, which is not empty; 0 if there is none.
size_t Utf8CharacterBytes(std::string_view text);

bool IsUtf8(std::string_view text);

// The text with '?' in place of each byte that belongs to no valid character.
std::string ToUtf8(std::string_view text);

}  // namespace tune
