#include "tuner/cli/head/tokens_command.h"

#include <optional>
#include <string>
#include <vector>

#include "core/posix/durable_file.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/client_keys.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/cli/run/listening.h"
#include "tuner/cli/words/complain.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

Value TimeCell(const std::optional<Instant>& time) {
  return time ? Value(FormatInstant(*time)) : Value();
}

Status PrintTokens(const TlsFolder& folder, const TokensOptions& options, Instant now,
                   std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const TokenList tokens, folder.ReadTokens());
  RowPrinter printer(options.format, options.width, out);
  printer.Begin(
      {"id", "state", "created_at", "expires_at", "revoked_at", "last_used_at", "role", "name"});
  for (const TokenRecord& token : tokens.records()) {
    printer.Row({token.id, TokenStateName(token.StateAt(now)), FormatInstant(token.created_at),
                 FormatInstant(token.expires_at), TimeCell(token.revoked_at),
                 TimeCell(token.last_used_at), TokenRoleName(token.role), token.name});
  }
  printer.End();
  return OkStatus();
}

Result<TlsFolder> OpenFolder(const TokensOptions& options) {
  Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(ArtifactsDirOf(options.db_path)));
  if (!folder.ok() && folder.status().code() == StatusCode::kNotFound) {
    return InvalidArgument("no tuner of " + options.db_path +
                           " has listened for other machines yet (tune run --listen HOST:PORT), "
                           "and no key of a client was made (tune tokens create --role user)");
  }
  return folder;
}

// The token, and the whole line if it is known where a sweep listens or listened.
Status PrintNewToken(const TlsFolder& folder, const TokensOptions& options, Instant now,
                     std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const NewToken token, MakeToken(folder, now, options.validity));
  TUNE_ASSIGN_OR_RETURN(const std::optional<std::string> address, folder.LastListenAddress());
  out << JoinLine(address.value_or("HOST:PORT"), token.text) << "\n";
  return OkStatus();
}

// The page's address with the key, and beside it what it is.
Status PrintNewKey(TokenRole role, const TokensOptions& options, Instant now, std::ostream& out,
                   std::ostream& err) {
  constexpr size_t kAddressBytesMax = 4096;
  const Result<std::string> kept = ReadFile(PageAddressFileOf(options.db_path), kAddressBytesMax);
  if (!kept.ok()) {
    return InvalidArgument("no head of " + options.db_path +
                           " has served a page yet, where clients ask; start it with tune head "
                           "--http HOST:PORT");
  }
  std::string address = kept->substr(0, kept->find('\n'));
  const size_t at = address.find("key=");
  if (at == std::string::npos) {
    return DataLoss(PageAddressFileOf(options.db_path) +
                    ": holds no address; it is written again "
                    "when the head is started");
  }
  TUNE_ASSIGN_OR_RETURN(const TlsFolder folder,
                        TlsFolder::OpenOrMake(TlsFolderOf(ArtifactsDirOf(options.db_path))));
  TUNE_ASSIGN_OR_RETURN(const std::string key,
                        MakeClientKey(folder, role, options.name, now, options.validity));
  out << address.insert(at + 4, key) << "\n" << std::flush;
  if (!FindLockHolder(options.db_path)) {
    err << "warning: no head is here just now; the address is where its page was last\n";
  }
  err << "the key of " << Printable(options.name) << ", a"
      << (role == TokenRole::kAdmin ? "n " : " ") << TokenRoleName(role) << "'s, until "
      << FormatInstant(now + options.validity)
      << "; it is shown this once: tune login keeps it where it is used, and tune tokens revoke "
      << key.substr(0, 8) << " ends it\n";
  return OkStatus();
}

Status Create(const TokensOptions& options, Instant now, std::ostream& out, std::ostream& err) {
  const std::optional<TokenRole> role =
      options.role.empty() ? TokenRole::kWorker : TokenRoleNamed(options.role);
  if (!role) {
    return InvalidArgument("--role: read '" + Printable(options.role) +
                           "', expected worker, viewer, user or admin");
  }
  if (*role != TokenRole::kWorker) return PrintNewKey(*role, options, now, out, err);
  if (!options.name.empty()) {
    return InvalidArgument("--name: is for keys of people (--role viewer, user or admin)");
  }
  TUNE_ASSIGN_OR_RETURN(const TlsFolder folder, OpenFolder(options));
  return PrintNewToken(folder, options, now, out);
}

// The words and the older options are one.
Result<TokensOptions> Settle(TokensOptions options) {
  const std::vector<std::string>& words = options.words;
  if (words.empty()) {
    const bool is_key = !options.role.empty() || !options.name.empty();
    if (!is_key || options.make_new) return options;
    return InvalidArgument("tune tokens: --role and --name are for tune tokens create");
  }
  if (words[0] == "create" && words.size() == 1 && options.revoke.empty()) {
    options.make_new = true;
    return options;
  }
  if (words[0] == "revoke" && words.size() == 2 && !words[1].empty() && !options.make_new &&
      options.revoke.empty()) {
    options.revoke = words[1];
    return options;
  }
  return InvalidArgument("tune tokens: read '" + Printable(words[0]) +
                         "', expected create, or revoke and an ID");
}

Status Perform(const TokensOptions& given, Instant now, std::ostream& out, std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const TokensOptions options, Settle(given));
  if (options.make_new) return Create(options, now, out, err);
  TUNE_ASSIGN_OR_RETURN(const TlsFolder folder, OpenFolder(options));
  if (options.revoke.empty()) return PrintTokens(folder, options, now, out);
  TUNE_RETURN_IF_ERROR(
      folder.ChangeTokens([&](TokenList& tokens) { return tokens.Revoke(options.revoke, now); }));
  err << "token " << options.revoke << " is revoked\n";
  return OkStatus();
}

}  // namespace

int TokensCommand(const TokensOptions& options, Instant now, std::ostream& out, std::ostream& err) {
  const Status status = Perform(options, now, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
