#include "tuner/cli/head/client_keys.h"

#include <algorithm>
#include <cstdint>

#include "core/posix/real_clock.h"
#include "core/utf8.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

constexpr size_t kIdDigits = 8;
constexpr size_t kSecretDigits = 32;
constexpr size_t kNameBytesMax = 64;
constexpr Duration kUseIsKeptEvery = Seconds(60);

std::string DrawDigits(size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  uint64_t bits = 0;
  while (digits.size() < count) {
    if (digits.size() % 16 == 0) bits = DrawEntropy();
    digits.push_back(kDigits[bits & 15]);
    bits >>= 4;
  }
  return digits;
}

std::string ClientKeyHash(std::string_view key) {
  Sha256 hash;
  hash.Add("tune client key 1 ");
  hash.Add(key);
  return hash.Finish();
}

PageRole PageRoleOf(TokenRole role) {
  switch (role) {
    case TokenRole::kWorker:
      return PageRole::kStranger;
    case TokenRole::kViewer:
      return PageRole::kViewer;
    case TokenRole::kUser:
      return PageRole::kUser;
    case TokenRole::kAdmin:
      return PageRole::kAdmin;
  }
  return PageRole::kStranger;
}

Status CheckName(const std::string& name) {
  const bool is_plain =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  const bool is_trimmed = !name.empty() && name.front() != ' ' && name.back() != ' ';
  if (is_trimmed && name.size() <= kNameBytesMax && is_plain && IsUtf8(name)) return OkStatus();
  return InvalidArgument(
      "--name: read '" + ToUtf8(name) +
      "', expected whose it is: 1 to 64 bytes of UTF-8 without spaces around them, such as "
      "ada");
}

}  // namespace

Result<std::string> MakeClientKey(const TlsFolder& folder, TokenRole role, const std::string& name,
                                  Instant now, Duration validity) {
  TUNE_RETURN_IF_ERROR(CheckName(name));
  TokenRecord record;
  record.id = DrawDigits(kIdDigits);
  const std::string key = record.id + DrawDigits(kSecretDigits);
  record.key_hash = ClientKeyHash(key);
  record.created_at = now;
  record.expires_at = now + validity;
  record.role = role;
  record.name = name;
  TUNE_RETURN_IF_ERROR(folder.ChangeTokens([&](TokenList& list) { return list.Add(record); }));
  return key;
}

PageCaller ClientKeys::CallerOf(std::string_view key) {
  if (key.size() != kIdDigits + kSecretDigits) return {};
  Refresh();
  const TokenRecord* const record = tokens_.FindByKey(ClientKeyHash(key));
  const Instant now = clock_.Now();
  if (record == nullptr || record->StateAt(now) != TokenState::kValid) return {};
  const PageCaller caller = {PageRoleOf(record->role), record->name, record->id};
  const auto [used, is_first] = used_at_.try_emplace(record->id, now);
  if (is_first || now >= used->second + kUseIsKeptEvery) {
    used->second = now;
    // For people alone: that it cannot be kept (a full disk) keeps nobody out.
    (void)folder_->ChangeTokens([&](TokenList& list) {
      list.MarkUsed(caller.id, now);
      return OkStatus();
    });
  }
  return caller;
}

void ClientKeys::Refresh() {
  if (!folder_) {
    Result<TlsFolder> opened = TlsFolder::Open(path_);
    if (!opened.ok()) return;
    folder_.emplace(*std::move(opened));
  }
  const std::string version = folder_->TokensVersion();
  if (version == version_) return;
  Result<TokenList> tokens = folder_->ReadTokens();
  if (!tokens.ok()) return;
  tokens_ = *std::move(tokens);
  version_ = version;
}

}  // namespace tune
