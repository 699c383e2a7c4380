// The tokens of a tuner, as data: which workers may join, which clients of its page may look or
// act, until when, and since when no more. Of a secret only the hash of a key is here.
//
// Thread rule: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

enum class TokenState { kValid, kExpired, kRevoked };
const char* TokenStateName(TokenState state);  // "valid", "expired", "revoked".

// A worker joins; a viewer of the page looks, a user also submits and changes what is his own, an
// admin changes all.
enum class TokenRole { kWorker, kViewer, kUser, kAdmin };
const char* TokenRoleName(TokenRole role);  // "worker", "viewer", "user", "admin".
std::optional<TokenRole> TokenRoleNamed(std::string_view name);

struct TokenRecord {
  std::string id;        // Eight hexadecimal digits.
  std::string key_hash;  // Of a worker KeyHashOf its certificate, else ClientKeyHash.
  Instant created_at;
  Instant expires_at;
  std::optional<Instant> revoked_at = {};
  std::optional<Instant> last_used_at = {};  // By a worker to join, by a client to the minute.
  TokenRole role = TokenRole::kWorker;
  std::string name = {};  // Whose it is; of a worker's empty.

  TokenState StateAt(Instant now) const;
  friend bool operator==(const TokenRecord&, const TokenRecord&) = default;
};

class TokenList {
 public:
  // In the order of their creation.
  const std::vector<TokenRecord>& records() const { return records_; }
  const TokenRecord* FindById(std::string_view id) const;
  const TokenRecord* FindByKey(std::string_view key_hash) const;

  // Forgets tokens that have been invalid for thirty days, and at limits::kJoinTokensMax all that
  // are invalid. kResourceExhausted where so many are valid; kFailedPrecondition when the id or the
  // key is there already.
  Status Add(TokenRecord record);
  // kNotFound names what there is. Revoking twice keeps the first time.
  Status Revoke(std::string_view id, Instant now);
  // Nothing happens when it is not there.
  void MarkUsed(std::string_view id, Instant now);

  std::string ToText() const;  // JSON.
  static Result<TokenList> Parse(std::string_view text);

  friend bool operator==(const TokenList&, const TokenList&) = default;

 private:
  TokenRecord* Find(std::string_view id);

  std::vector<TokenRecord> records_;
};

// Whether a worker with this token may join now; else one line for the worker.
Status MayJoin(const TokenRecord& record, Instant now);

}  // namespace tune
