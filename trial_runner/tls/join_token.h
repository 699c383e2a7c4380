// The word that invites a worker: it carries the fingerprint of the tuner's certificate authority,
// so that the worker knows its tuner, and a secret from which the worker's key is derived, so that
// the tuner knows its worker (docs/PROTOCOL.md).
//
// The word is "tune1_" and base64url (RFC 4648 section 5, no padding) of: fingerprint (32 bytes),
// id (4), secret (20), and the first 4 bytes of SHA-256 of these, which tell a mistyped word from a
// wrong one.
//
// Thread rule: free functions on values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

using Fingerprint = std::array<uint8_t, 32>;  // SHA-256.

struct JoinToken {
  Fingerprint authority{};           // Of the authority's certificate, DER.
  std::array<uint8_t, 4> id{};       // Names the token in lists; no secret.
  std::array<uint8_t, 20> secret{};  // 160 bits.

  // Eight hexadecimal digits.
  std::string id_text() const;
  friend bool operator==(const JoinToken&, const JoinToken&) = default;
};

// With an id and a secret from the operating system's entropy.
Result<JoinToken> DrawJoinToken(const Fingerprint& authority);

std::string FormatJoinToken(const JoinToken& token);
// kInvalidArgument: mistyped, cut, or no token at all. The text is not repeated in the message: it
// may be a secret with one letter changed.
Result<JoinToken> ParseJoinToken(std::string_view text);

}  // namespace tune
