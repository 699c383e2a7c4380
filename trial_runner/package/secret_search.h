// Looks for what must not leave a machine in a text that comes in pieces: private keys, join tokens
// (as in the output of a tuner that was kept in a file), and the values of secrets.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial_runner/secrets.h"

namespace tune {

class SecretSearch {
 public:
  // Values of less than kSecretBytesMin bytes are not looked for: they stand anywhere.
  explicit SecretSearch(const std::vector<Secret>& secrets);

  // What is in the text up to the end of this piece: "a private key", "a join token", "the value of
  // HF_TOKEN". Once found, the text is done with. The first piece holds the first 32 bytes, or all.
  std::optional<std::string> Add(std::string_view piece);

  static constexpr size_t kSecretBytesMin = 8;
  // What Add calls a join token.
  static constexpr std::string_view kJoinToken = "a join token";

 private:
  std::vector<Secret> secrets_;
  size_t overlap_bytes_;
  bool is_begin_ = true;
  bool is_utf16_ = false;
  // The two marks of a private key in JSON, which may stand in either order.
  bool has_json_key_type_ = false;
  bool has_private_part_ = false;
  std::string window_;  // The end of what was read, and the piece.
};

}  // namespace tune
