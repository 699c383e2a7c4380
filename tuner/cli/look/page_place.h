// Where a page is served, and as whom: what --http, --tls-cert and --tls-key say.
//
// On the loopback of this machine it is plain HTTP unless a certificate is given; beyond it always
// TLS, with a certificate of the tuner's own where none is given.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
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

// Holds the address of a head's page, without a key in it: "https://192.0.2.7:8080/?key=&cert=...".
std::string PageAddressFileOf(const std::string& db_path);

// What can be known before anything is served: kInvalidArgument says which option is wrong.
Status CheckPagePlace(const PagePlace& place, Instant now);

// The files of --tls-cert and --tls-key, which may be replaced while the page is served.
class RenewedTls {
 public:
  // Takes note of how they are now; to be made before they are read. What is wrong with others that
  // are put in their place is said on `err`.
  RenewedTls(PagePlace place, const Clock& clock, std::ostream& err)
      : place_(std::move(place)), clock_(clock), err_(err), seen_(StateOfFiles()) {}
  // What they hold, where they have changed since the last look and do. One look at their state.
  std::optional<HttpTls> Look();

 private:
  std::string StateOfFiles() const;

  PagePlace place_;
  const Clock& clock_;
  std::ostream& err_;
  std::string seen_;
  std::string said_;
};

struct PageTls {
  HttpTls tls;
  std::string fingerprint;  // "AB:CD:..." of a certificate that the tuner made; else "".
};

// Nothing: plain HTTP. `db_path`: beside it lies the tuner's own certificate, which is made if it
// is missing.
Result<std::optional<PageTls>> PrepareTls(const PagePlace& place, const NetworkAddress& address,
                                          const std::string& db_path, Instant now);

}  // namespace tune
