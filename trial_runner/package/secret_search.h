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
  // HF_TOKEN". Once
  // found, the text is done with.
  std::optional<std::string> Add(std::string_view piece);

  static constexpr size_t kSecretBytesMin = 8;
  // What Add calls a join token.
  static constexpr std::string_view kJoinToken = "a join token";

 private:
  std::vector<Secret> secrets_;
  size_t overlap_bytes_;
  bool is_begin_ = true;
  std::string window_;  // The end of what was read, and the piece.
};

}  // namespace tune
