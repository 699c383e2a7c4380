#include "tuner/cli/look/page_place.h"

#include <sys/stat.h>

#include <cstdint>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/host_name.h"
#include "trial_runner/tls/certificates.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/words/outward_host.h"

namespace tune {
namespace {

// Nothing: none is given.
Result<std::optional<ServerIdentity>> ReadGiven(const PagePlace& place, Instant now) {
  if (place.tls_certificate.empty() && place.tls_key.empty()) {
    return std::optional<ServerIdentity>();
  }
  if (place.tls_key.empty()) {
    return InvalidArgument("--tls-cert: its key is missing; name that file, too: --tls-key FILE");
  }
  if (place.tls_certificate.empty()) {
    return InvalidArgument(
        "--tls-key: its certificate is missing; name that file, too: --tls-cert FILE");
  }
  const Result<std::string> certificate = ReadFile(place.tls_certificate, limits::kTlsFileBytesMax);
  if (!certificate.ok()) return InvalidArgument(certificate.status().message()).At("--tls-cert");
  const Result<std::string> key = ReadFile(place.tls_key, limits::kTlsFileBytesMax);
  if (!key.ok()) return InvalidArgument(key.status().message()).At("--tls-key");
  TUNE_ASSIGN_OR_RETURN(ServerIdentity identity,
                        ReadServerIdentity({"--tls-cert: " + place.tls_certificate, *certificate},
                                           {"--tls-key: " + place.tls_key, *key}, now));
  return std::optional(std::move(identity));
}

// Differs when the file has changed; "" where there is none.
std::string StateOf(const std::string& path) {
  struct stat state = {};
  if (stat(path.c_str(), &state) != 0) return "";
  std::string text;
  for (const int64_t part :
       {static_cast<int64_t>(state.st_ino), static_cast<int64_t>(state.st_size),
        static_cast<int64_t>(state.st_ctim.tv_sec), static_cast<int64_t>(state.st_ctim.tv_nsec)})
    text += std::to_string(part) + " ";
  return text;
}

}  // namespace

std::string RenewedTls::StateOfFiles() const {
  return StateOf(place_.tls_certificate) + "and " + StateOf(place_.tls_key);
}

std::optional<HttpTls> RenewedTls::Look() {
  const std::string state = StateOfFiles();
  if (state == seen_) return std::nullopt;
  const Result<std::optional<ServerIdentity>> renewed = ReadGiven(place_, clock_.Now());
  if (renewed.ok() && *renewed) {
    said_.clear();
    seen_ = state;
    return HttpTls{(*renewed)->certificates, (*renewed)->key};
  }
  if (renewed.ok() || renewed.status().message() == said_) return std::nullopt;
  said_ = renewed.status().message();
  err_ << "tune: " << said_ << "; the page goes on with the certificate that it has\n"
       << std::flush;
  return std::nullopt;
}

std::vector<std::string> PagePlace::ToArguments() const {
  std::vector<std::string> arguments;
  for (const auto& [option, value] :
       {std::pair("--http", http), {"--tls-cert", tls_certificate}, {"--tls-key", tls_key}}) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  }
  return arguments;
}

std::string PageAddressFileOf(const std::string& db_path) {
  return ArtifactsDirOf(db_path) + "/page.address";
}

Status CheckPagePlace(const PagePlace& place, Instant now) {
  if (!place.http.empty()) {
    const Result<NetworkAddress> address = ParseNetworkAddress(place.http);
    if (!address.ok()) return address.status().At("--http");
  }
  return ReadGiven(place, now).status();
}

Result<std::optional<PageTls>> PrepareTls(const PagePlace& place, const NetworkAddress& address,
                                          const std::string& db_path, Instant now) {
  TUNE_ASSIGN_OR_RETURN(std::optional<ServerIdentity> given, ReadGiven(place, now));
  if (given) return std::optional(PageTls{{given->certificates, given->key}, ""});
  if (address.is_loopback()) return std::optional<PageTls>();
  const Result<ServerIdentity> own = OpenOrMakePageIdentity(
      TlsFolderOf(ArtifactsDirOf(db_path)),
      {HostName(), address.is_any() ? OutwardHost() : address.host, "localhost", "127.0.0.1"}, now);
  if (!own.ok()) {
    return Status(own.status().code(),
                  "the page's certificate: " + own.status().message() +
                      "; --tls-cert FILE --tls-key FILE serves it with another one");
  }
  TUNE_ASSIGN_OR_RETURN(const Fingerprint fingerprint, FingerprintOf(own->certificates));
  return std::optional(PageTls{{own->certificates, own->key}, FormatFingerprint(fingerprint)});
}

}  // namespace tune
