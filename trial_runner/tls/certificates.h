// Keys and certificates of the connections between machines (RFC 5280, by OpenSSL 3).
//
// The tuner has a certificate authority of its own and a certificate that this authority signed;
// both keys are P-256. A worker's key is Ed25519 and derived from its token's secret (HKDF, RFC
// 5869), its certificate is self-signed and says nothing: the key alone counts. Certificates do not
// expire, tokens do, by the tuner's clock; so a wrong clock on a worker breaks nothing.
//
// The page of a tuner is shown over TLS beyond this machine: with a certificate that it signs
// itself, or with one of the person's own.
//
// Thread rule: free functions on values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/tls/join_token.h"

namespace tune {

// The name in the tuner's certificate, whatever its host is called: workers know a tuner by its
// authority.
inline constexpr char kTunerCertificateName[] = "tuner.invalid";

// All PEM.
struct TunerIdentity {
  std::string key;            // The server's.
  std::string certificate;    // The server's.
  std::string authority;      // The authority's certificate.
  std::string authority_key;  // Signs nothing but the server's certificate.
};

Result<TunerIdentity> MakeTunerIdentity();
// One text with all four, in the order above, and back. kDataLoss when something is missing or does
// not fit together.
std::string FormatTunerIdentity(const TunerIdentity& identity);
Result<TunerIdentity> ParseTunerIdentity(const std::string& pem);

struct WorkerIdentity {
  std::string key;
  std::string certificate;
};

// The same key for the same token, always.
Result<WorkerIdentity> DeriveWorkerIdentity(const JoinToken& token);

// Both PEM.
struct ServerIdentity {
  std::string key;
  std::string certificates;  // The server's, and behind it those that lead to its authority.
};

// For these hosts: names and IP addresses; what is neither is left out. Self-signed, P-256.
Result<ServerIdentity> MakeServerIdentity(const std::vector<std::string>& hosts);

struct NamedPem {
  std::string name;  // Where it was read, for messages.
  std::string text;
};
// kInvalidArgument, one line: one of them cannot be read, the key is locked or is another
// certificate's, or the certificate does not count now.
Result<ServerIdentity> ReadServerIdentity(const NamedPem& certificates, const NamedPem& key,
                                          Instant now);

// Of the certificate's DER.
Result<Fingerprint> FingerprintOf(std::string_view certificate);
// "AB:CD:...", as browsers and openssl show it.
std::string FormatFingerprint(const Fingerprint& fingerprint);
// Sixty-four hexadecimal digits: SHA-256 of the certificate's public key (SubjectPublicKeyInfo,
// DER). What a tuner keeps of a token.
Result<std::string> KeyHashOf(std::string_view certificate);

}  // namespace tune
