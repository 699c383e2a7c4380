// The folder beside the database that holds what a tuner needs to listen for other machines:
//
//   identity.pem   its keys and certificates, made once
//   page_key.pem, page_certificate.pem   of its page beyond this machine, made once
//   tokens.json    who may join (trial_runner/tls/token_list.h)
//   listen.json    where each sweep listened last
//   lock           held while one of these is changed, since `tune tokens` and a tuner both do
//
// The folder is of mode 0700 and the files 0600; one that others can read is refused. A change is
// durable, and whole or not there at all.
//
// Thread rule: any thread; changes exclude each other, between processes too.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "trial_runner/tls/certificates.h"
#include "trial_runner/tls/token_list.h"

namespace tune {

class TlsFolder {
 public:
  // `path` as TlsFolderOf gives it. kNotFound when no tuner has ever listened here.
  static Result<TlsFolder> Open(const std::string& path);
  // Makes the folder and the identity if they are missing.
  static Result<TlsFolder> OpenOrMake(const std::string& path);

  const std::string& path() const { return path_; }
  const TunerIdentity& identity() const { return identity_; }

  Result<TokenList> ReadTokens() const;
  // Reads, lets `change` change, writes; writes nothing when `change` fails.
  Status ChangeTokens(const std::function<Status(TokenList&)>& change) const;
  // Differs when tokens.json has changed: one look at the file's state, no reading.
  std::string TokensVersion() const;

  // HOST:PORT of the sweep of this name; nothing if it never listened.
  Result<std::optional<std::string>> ListenAddressOf(const std::string& sweep) const;
  // Where a sweep listened last.
  Result<std::optional<std::string>> LastListenAddress() const;
  // Nothing: forgets.
  Status KeepListenAddress(const std::string& sweep, const std::optional<std::string>& address);

 private:
  TlsFolder(std::string path, TunerIdentity identity)
      : path_(std::move(path)), identity_(std::move(identity)) {}

  std::string path_;
  TunerIdentity identity_;
};

// The page's identity in this folder; made for `hosts`, with the folder, if it is missing. Needs no
// identity of a tuner.
Result<ServerIdentity> OpenOrMakePageIdentity(const std::string& path,
                                              const std::vector<std::string>& hosts, Instant now);

// "tls" in the artifacts' folder of a database.
std::string TlsFolderOf(const std::string& artifacts_dir);

struct NewToken {
  std::string text;  // The whole word; kept nowhere.
  TokenRecord record;
};
// Draws a token that is valid for `validity` from `now`, and keeps what is needed to know it again.
Result<NewToken> MakeToken(const TlsFolder& folder, Instant now, Duration validity);

}  // namespace tune
