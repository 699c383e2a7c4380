// Where a page is served, and as whom: what --http, --tls-cert and --tls-key say.
//
// On the loopback of this machine it is plain HTTP unless a certificate is given; beyond it always
// TLS, with a certificate of the tuner's own where none is given.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/network_address.h"
#include "tuner/http/http_server.h"

namespace tune {

struct PagePlace {
  std::string http;             // HOST:PORT; "": the usual one.
  std::string tls_certificate;  // Files, PEM; both or none.
  std::string tls_key;

  bool is_given() const { return !http.empty() || !tls_certificate.empty() || !tls_key.empty(); }
  // The options that say so.
  std::vector<std::string> ToArguments() const;
};

inline constexpr char kUsualPageAddress[] = "127.0.0.1:8080";

// What can be known before anything is served: kInvalidArgument says which option is wrong.
Status CheckPagePlace(const PagePlace& place, Instant now);

struct PageTls {
  HttpTls tls;
  std::string fingerprint;  // "AB:CD:..." of a certificate that the tuner made; else "".
};

// Nothing: plain HTTP. `db_path`: beside it lies the tuner's own certificate, which is made if it
// is missing.
Result<std::optional<PageTls>> PrepareTls(const PagePlace& place, const NetworkAddress& address,
                                          const std::string& db_path, Instant now);

}  // namespace tune
