#include "trial_runner/tls/token_gate.h"

namespace tune {
namespace {

constexpr char kUnknown[] =
    "it does not know this token; ask for another one (tune tokens --new, on the tuner's machine)";

}  // namespace

Status TokenGate::Refresh() {
  const std::string version = folder_.TokensVersion();
  if (has_read_ && version == version_) return OkStatus();
  Result<TokenList> read = folder_.ReadTokens();
  if (!read.ok()) {
    // It may be but a moment: a full table of descriptors, a network disk that is away.
    return Unavailable("its list of tokens cannot be read: " + read.status().message());
  }
  tokens_ = *std::move(read);
  version_ = version;  // Of before the reading: what changed meanwhile is read the next time.
  has_read_ = true;
  return OkStatus();
}

bool TokenGate::Knows(std::string_view certificate) {
  const Result<std::string> key_hash = KeyHashOf(certificate);
  if (!key_hash.ok()) return false;
  const std::lock_guard lock(mutex_);
  return !Refresh().ok() || tokens_.FindByKey(*key_hash) != nullptr;
}

Result<const TokenRecord*> TokenGate::Find(std::string_view key_hash) {
  TUNE_RETURN_IF_ERROR(Refresh());
  const TokenRecord* const record = tokens_.FindByKey(key_hash);
  if (record == nullptr) return FailedPrecondition(kUnknown);
  return record;
}

Result<std::string> TokenGate::Admit(std::string_view certificate) {
  TUNE_ASSIGN_OR_RETURN(const std::string key_hash, KeyHashOf(certificate));
  const Instant now = clock_.Now();
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    TUNE_ASSIGN_OR_RETURN(const TokenRecord* const record, Find(key_hash));
    TUNE_RETURN_IF_ERROR(MayJoin(*record, now));
    id = record->id;
  }
  // For people alone: that it cannot be kept (a full disk) keeps nobody out.
  (void)folder_.ChangeTokens([&](TokenList& list) {
    list.MarkUsed(id, now);
    return OkStatus();
  });
  return id;
}

Result<std::string> TokenGate::AdmitCall(std::string_view certificate) {
  TUNE_ASSIGN_OR_RETURN(const std::string key_hash, KeyHashOf(certificate));
  const Instant now = clock_.Now();
  const std::lock_guard lock(mutex_);
  TUNE_ASSIGN_OR_RETURN(const TokenRecord* const record, Find(key_hash));
  if (record->StateAt(now) != TokenState::kExpired) TUNE_RETURN_IF_ERROR(MayJoin(*record, now));
  return record->id;
}

Status TokenGate::StillAdmits(std::string_view token_id) {
  const std::lock_guard lock(mutex_);
  // A list that cannot be read for a while throws nobody out who is in.
  if (!Refresh().ok() && !has_read_) return OkStatus();
  const TokenRecord* const record = tokens_.FindById(token_id);
  if (record == nullptr) return FailedPrecondition(kUnknown);
  if (!record->revoked_at) return OkStatus();
  return MayJoin(*record, clock_.Now());
}

}  // namespace tune
