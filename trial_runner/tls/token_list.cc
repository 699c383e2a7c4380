#include "trial_runner/tls/token_list.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/limits.h"

namespace tune {
namespace {

constexpr Duration kForgetAfter = Seconds(30 * 86'400);

constexpr TokenRole kRoles[] = {TokenRole::kWorker, TokenRole::kViewer, TokenRole::kUser,
                                TokenRole::kAdmin};
constexpr char kRemedy[] = "; ask for another one (tune tokens --new, on the tuner's machine)";

Value ToValue(const std::optional<Instant>& time) { return time ? Value(time->us) : Value(); }

Result<std::string> TextAt(const Value& map, std::string_view key) {
  const Value* const value = map.is_map() ? map.Find(key) : nullptr;
  if (value == nullptr || !value->is_string() || value->AsString().empty()) {
    return DataLoss("a token has no '" + std::string(key) + "'");
  }
  return value->AsString();
}

// What older programs wrote are workers'.
Status ReadWhose(const Value& map, TokenRecord& record) {
  const Value* const role = map.Find("role");
  if (role == nullptr) return OkStatus();
  const auto named = role->is_string() ? TokenRoleNamed(role->AsString()) : std::nullopt;
  if (!named) return DataLoss("a token's 'role' is none");
  record.role = *named;
  if (record.role == TokenRole::kWorker) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(record.name, TextAt(map, "name"));
  return OkStatus();
}

Result<std::optional<Instant>> TimeAt(const Value& map, std::string_view key) {
  const Value* const value = map.is_map() ? map.Find(key) : nullptr;
  if (value == nullptr || value->is_null()) return std::optional<Instant>();
  if (!value->is_int()) return DataLoss("a token's '" + std::string(key) + "' is no time");
  return std::optional(Instant{value->AsInt()});
}

Result<Instant> RequiredTimeAt(const Value& map, std::string_view key) {
  TUNE_ASSIGN_OR_RETURN(const std::optional<Instant> time, TimeAt(map, key));
  if (!time) return DataLoss("a token has no '" + std::string(key) + "'");
  return *time;
}

}  // namespace

const char* TokenStateName(TokenState state) {
  switch (state) {
    case TokenState::kValid:
      return "valid";
    case TokenState::kExpired:
      return "expired";
    case TokenState::kRevoked:
      return "revoked";
  }
  return "";
}

const char* TokenRoleName(TokenRole role) {
  switch (role) {
    case TokenRole::kWorker:
      return "worker";
    case TokenRole::kViewer:
      return "viewer";
    case TokenRole::kUser:
      return "user";
    case TokenRole::kAdmin:
      return "admin";
  }
  return "";
}

std::optional<TokenRole> TokenRoleNamed(std::string_view name) {
  for (const TokenRole role : kRoles) {
    if (name == TokenRoleName(role)) return role;
  }
  return std::nullopt;
}

TokenState TokenRecord::StateAt(Instant now) const {
  if (revoked_at) return TokenState::kRevoked;
  return now < expires_at ? TokenState::kValid : TokenState::kExpired;
}

const TokenRecord* TokenList::FindById(std::string_view id) const {
  return const_cast<TokenList*>(this)->Find(id);
}

TokenRecord* TokenList::Find(std::string_view id) {
  const auto found = std::find_if(records_.begin(), records_.end(),
                                  [&](const TokenRecord& record) { return record.id == id; });
  return found == records_.end() ? nullptr : &*found;
}

const TokenRecord* TokenList::FindByKey(std::string_view key_hash) const {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const TokenRecord& record) {
    return record.key_hash == key_hash;
  });
  return found == records_.end() ? nullptr : &*found;
}

Status TokenList::Add(TokenRecord record) {
  if (FindById(record.id) != nullptr || FindByKey(record.key_hash) != nullptr) {
    return FailedPrecondition("token " + record.id + " is there already");
  }
  const Instant now = record.created_at;
  std::erase_if(records_, [&](const TokenRecord& old) {
    return std::min(old.expires_at, old.revoked_at.value_or(old.expires_at)) + kForgetAfter < now;
  });
  if (records_.size() >= limits::kJoinTokensMax) {
    std::erase_if(records_,
                  [&](const TokenRecord& old) { return old.StateAt(now) != TokenState::kValid; });
  }
  if (records_.size() >= limits::kJoinTokensMax) {
    return ResourceExhausted(
        "there are " + std::to_string(records_.size()) +
        " tokens that count, more are not kept; revoke some (tune tokens revoke ID)");
  }
  records_.push_back(std::move(record));
  return OkStatus();
}

Status TokenList::Revoke(std::string_view id, Instant now) {
  TokenRecord* const record = Find(id);
  if (record != nullptr) {
    if (record->revoked_at) {
      return FailedPrecondition("token " + record->id + " was revoked already, at " +
                                FormatInstant(*record->revoked_at));
    }
    record->revoked_at = now;
    return OkStatus();
  }
  std::string known;
  for (const TokenRecord& one : records_) known += (known.empty() ? "" : ", ") + one.id;
  return NotFound("there is no token '" + std::string(id) + "'" +
                  (known.empty() ? "" : "; there are " + known));
}

void TokenList::MarkUsed(std::string_view id, Instant now) {
  if (TokenRecord* const record = Find(id)) record->last_used_at = now;
}

std::string TokenList::ToText() const {
  Value list = Value::MakeList();
  for (const TokenRecord& record : records_) {
    Value one = Value::MakeMap();
    one.Set("id", record.id);
    one.Set("key_sha256", record.key_hash);
    one.Set("created_us", record.created_at.us);
    one.Set("expires_us", record.expires_at.us);
    one.Set("revoked_us", ToValue(record.revoked_at));
    one.Set("last_used_us", ToValue(record.last_used_at));
    if (record.role != TokenRole::kWorker) {
      one.Set("role", TokenRoleName(record.role));
      one.Set("name", record.name);
    }
    list.AsList().push_back(std::move(one));
  }
  Value document = Value::MakeMap();
  document.Set("tokens", std::move(list));
  return ToJson(document) + "\n";
}

Result<TokenList> TokenList::Parse(std::string_view text) {
  TUNE_ASSIGN_OR_RETURN(const Value document, ParseJson(text));
  const Value* const tokens = document.is_map() ? document.Find("tokens") : nullptr;
  if (tokens == nullptr || !tokens->is_list()) return DataLoss("expected a list 'tokens'");
  TokenList list;
  for (const Value& one : tokens->AsList()) {
    TokenRecord record;
    TUNE_ASSIGN_OR_RETURN(record.id, TextAt(one, "id"));
    TUNE_ASSIGN_OR_RETURN(record.key_hash, TextAt(one, "key_sha256"));
    TUNE_ASSIGN_OR_RETURN(record.created_at, RequiredTimeAt(one, "created_us"));
    TUNE_ASSIGN_OR_RETURN(record.expires_at, RequiredTimeAt(one, "expires_us"));
    TUNE_ASSIGN_OR_RETURN(record.revoked_at, TimeAt(one, "revoked_us"));
    TUNE_ASSIGN_OR_RETURN(record.last_used_at, TimeAt(one, "last_used_us"));
    TUNE_RETURN_IF_ERROR(ReadWhose(one, record));
    list.records_.push_back(std::move(record));
  }
  return list;
}

Status MayJoin(const TokenRecord& record, Instant now) {
  if (record.role != TokenRole::kWorker) {
    return FailedPrecondition("the token " + record.id + " is no worker's" + kRemedy);
  }
  switch (record.StateAt(now)) {
    case TokenState::kValid:
      return OkStatus();
    case TokenState::kExpired:
      return FailedPrecondition("the token " + record.id + " expired at " +
                                FormatInstant(record.expires_at) + kRemedy);
    case TokenState::kRevoked:
      return FailedPrecondition("the token " + record.id + " was revoked at " +
                                FormatInstant(*record.revoked_at) + kRemedy);
  }
  return OkStatus();
}

}  // namespace tune
