// SHA-256 (FIPS 180-4, by OpenSSL 3) of bytes that come piece by piece.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tune {

class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&& other) noexcept;
  ~Sha256();

  void Add(std::string_view bytes);
  // Once, last: sixty-four lower-case hexadecimal digits.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tune
