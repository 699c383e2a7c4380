// Base64 (RFC 4648): section 4, with padding, and section 5, of letters that may stand in a URL,
// without.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tune {

enum class Base64 { kPadded, kUrl };

std::string EncodeBase64(std::string_view bytes, Base64 form);
// Blanks and line ends are passed over, of kPadded. Nothing: it is no such text.
std::optional<std::string> DecodeBase64(std::string_view text, Base64 form);

}  // namespace tune
