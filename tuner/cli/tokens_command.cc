#include "tuner/cli/tokens_command.h"

#include <optional>

#include "trial_runner/tls/tls_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/listening.h"

namespace tune {
namespace {

Value TimeCell(const std::optional<Instant>& time) {
  return time ? Value(FormatInstant(*time)) : Value();
}

Status PrintTokens(const TlsFolder& folder, const TokensOptions& options, Instant now,
                   std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const TokenList tokens, folder.ReadTokens());
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"id", "state", "created_at", "expires_at", "revoked_at", "last_used_at"});
  for (const TokenRecord& token : tokens.records()) {
    printer.Row({token.id, TokenStateName(token.StateAt(now)), FormatInstant(token.created_at),
                 FormatInstant(token.expires_at), TimeCell(token.revoked_at),
                 TimeCell(token.last_used_at)});
  }
  printer.End();
  return OkStatus();
}

// The token, and the whole line if it is known where a sweep listens or listened.
Status PrintNewToken(const TlsFolder& folder, const TokensOptions& options, Instant now,
                     std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const NewToken token, MakeToken(folder, now, options.validity));
  TUNE_ASSIGN_OR_RETURN(const std::optional<std::string> address, folder.LastListenAddress());
  out << JoinLine(address.value_or("HOST:PORT"), token.text) << "\n";
  return OkStatus();
}

Status Perform(const TokensOptions& options, Instant now, std::ostream& out) {
  const Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(ArtifactsDirOf(options.db_path)));
  if (!folder.ok() && folder.status().code() == StatusCode::kNotFound) {
    return InvalidArgument("no tuner of " + options.db_path +
                           " has listened for other machines yet (tune run --listen HOST:PORT)");
  }
  TUNE_RETURN_IF_ERROR(folder.status());
  if (!options.revoke.empty()) {
    return folder->ChangeTokens(
        [&](TokenList& tokens) { return tokens.Revoke(options.revoke, now); });
  }
  if (options.make_new) return PrintNewToken(*folder, options, now, out);
  return PrintTokens(*folder, options, now, out);
}

}  // namespace

int TokensCommand(const TokensOptions& options, Instant now, std::ostream& out, std::ostream& err) {
  const Status status = Perform(options, now, out);
  if (status.ok()) {
    if (!options.revoke.empty()) err << "token " << options.revoke << " is revoked\n";
    return 0;
  }
  return Complain(status, err);
}

}  // namespace tune
