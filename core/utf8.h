// UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace tune {

bool IsUtf8(std::string_view text);

// The text with '?' in place of each byte that belongs to no valid character.
std::string ToUtf8(std::string_view text);

}  // namespace tune
