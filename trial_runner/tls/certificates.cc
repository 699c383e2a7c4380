#include "trial_runner/tls/certificates.h"

#include <arpa/inet.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <utility>

#include "trial_runner/tls/openssl_types.h"

namespace tune {
namespace {

using OwnedExtension = std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>>;
using OwnedKdf = std::unique_ptr<EVP_KDF, OpensslFree<EVP_KDF_free>>;
using OwnedKdfContext = std::unique_ptr<EVP_KDF_CTX, OpensslFree<EVP_KDF_CTX_free>>;

// RFC 5280 section 4.1.2.5: the end of a certificate that has none.
constexpr char kNotBefore[] = "20000101000000Z";
constexpr char kNotAfter[] = "99991231235959Z";

Status OpensslFailed(const std::string& what) {
  return Internal("cannot " + what + ": " + TakeOpensslError());
}

OwnedBio ReadBio(std::string_view text) {
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::string> KeyToPem(EVP_PKEY* key) {
  const OwnedBio bio(BIO_new(BIO_s_secmem()));
  if (bio == nullptr ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpensslFailed("write a key");
  }
  return TextOf(bio.get());
}

Result<OwnedCertificate> CertificateFromPem(std::string_view pem) {
  const OwnedBio bio = ReadBio(pem);
  OwnedCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) return OpensslFailed("read a certificate");
  return certificate;
}

Result<TunerIdentity> ToIdentity(const OwnedKey& key, const OwnedCertificate& certificate,
                                 const OwnedCertificate& authority, const OwnedKey& authority_key) {
  TunerIdentity identity;
  TUNE_ASSIGN_OR_RETURN(identity.key, KeyToPem(key.get()));
  TUNE_ASSIGN_OR_RETURN(identity.certificate, CertificateToPem(certificate.get()));
  TUNE_ASSIGN_OR_RETURN(identity.authority, CertificateToPem(authority.get()));
  TUNE_ASSIGN_OR_RETURN(identity.authority_key, KeyToPem(authority_key.get()));
  return identity;
}

struct CertificateWish {
  const char* name = "";
  bool is_authority = false;
  const char* usage = "";
  std::string hosts = {};         // Subject alternative names: "DNS:a,IP:10.0.0.5".
  const char* purpose = nullptr;  // Extended key usage.
};

bool AddExtension(X509* certificate, int kind, const std::string& value) {
  const OwnedExtension extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return false;
  serial[0] &= 0x7f;  // Positive.
  const std::unique_ptr<BIGNUM, OpensslFree<BN_free>> number(
      BN_bin2bn(serial, sizeof serial, nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetName(X509* certificate, const char* name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1;
}

// `issuer` null: self-signed with `signing_key`. Ed25519 has its digest in itself.
Result<OwnedCertificate> Certify(const CertificateWish& wish, EVP_PKEY* key, X509* issuer,
                                 EVP_PKEY* signing_key) {
  OwnedCertificate made(X509_new());
  X509* const c = made.get();
  const bool is_filled =
      c != nullptr && X509_set_version(c, X509_VERSION_3) == 1 && SetSerial(c) &&
      SetName(c, wish.name) &&
      X509_set_issuer_name(c, X509_get_subject_name(issuer == nullptr ? c : issuer)) == 1 &&
      ASN1_TIME_set_string(X509_getm_notBefore(c), kNotBefore) == 1 &&
      ASN1_TIME_set_string(X509_getm_notAfter(c), kNotAfter) == 1 && X509_set_pubkey(c, key) == 1 &&
      AddExtension(c, NID_basic_constraints,
                   wish.is_authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
      AddExtension(c, NID_key_usage, wish.usage) &&
      (wish.hosts.empty() || AddExtension(c, NID_subject_alt_name, wish.hosts)) &&
      (wish.purpose == nullptr || AddExtension(c, NID_ext_key_usage, wish.purpose));
  const EVP_MD* const digest =
      EVP_PKEY_get_base_id(signing_key) == EVP_PKEY_ED25519 ? nullptr : EVP_sha256();
  if (!is_filled || X509_sign(c, signing_key, digest) == 0) {
    return OpensslFailed("make a certificate");
  }
  return made;
}

// "DNS:host,IP:10.0.0.5"; what is no host's name would be read as more of the list.
std::string AlternativeNames(const std::vector<std::string>& hosts) {
  std::string out;
  for (const std::string& host : hosts) {
    unsigned char address[16];
    const bool is_ip = inet_pton(AF_INET, host.c_str(), address) == 1 ||
                       inet_pton(AF_INET6, host.c_str(), address) == 1;
    const bool is_name = !host.empty() && host.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                                              "YZ0123456789-.") == host.npos;
    if (!is_ip && !is_name) continue;
    out += (out.empty() ? "" : ",") + std::string(is_ip ? "IP:" : "DNS:") + host;
  }
  return out;
}

Instant ToInstant(const ASN1_TIME* time) {
  std::tm parts = {};
  ASN1_TIME_to_tm(time, &parts);
  return Instant{static_cast<int64_t>(timegm(&parts)) * 1'000'000};
}

std::string ToHex(const unsigned char* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// HKDF with SHA-256: salted with the authority, so that a secret is good for one tuner alone.
Result<OwnedKey> DeriveKey(const JoinToken& token) {
  const OwnedKdf kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const OwnedKdfContext context(kdf == nullptr ? nullptr : EVP_KDF_CTX_new(kdf.get()));
  char digest[] = "SHA256";
  char info[] = "tune worker key 1";
  JoinToken copy = token;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, copy.secret.data(), copy.secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, copy.authority.data(),
                                        copy.authority.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof info - 1),
      OSSL_PARAM_construct_end()};
  unsigned char seed[32];
  if (context == nullptr || EVP_KDF_derive(context.get(), seed, sizeof seed, parameters) != 1) {
    return OpensslFailed("derive a worker's key");
  }
  OwnedKey key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed, sizeof seed));
  OPENSSL_cleanse(seed, sizeof seed);
  if (key == nullptr) return OpensslFailed("derive a worker's key");
  return key;
}

}  // namespace

Result<TunerIdentity> MakeTunerIdentity() {
  const OwnedKey authority_key(EVP_EC_gen("P-256"));
  const OwnedKey key(EVP_EC_gen("P-256"));
  if (authority_key == nullptr || key == nullptr) return OpensslFailed("make a key");
  TUNE_ASSIGN_OR_RETURN(const OwnedCertificate authority,
                        Certify({"tune authority", true, "critical,keyCertSign"},
                                authority_key.get(), nullptr, authority_key.get()));
  TUNE_ASSIGN_OR_RETURN(const OwnedCertificate certificate,
                        Certify({"tune tuner", false, "critical,digitalSignature",
                                 std::string("DNS:") + kTunerCertificateName},
                                key.get(), authority.get(), authority_key.get()));
  return ToIdentity(key, certificate, authority, authority_key);
}

std::string FormatTunerIdentity(const TunerIdentity& identity) {
  return identity.key + identity.certificate + identity.authority + identity.authority_key;
}

Result<TunerIdentity> ParseTunerIdentity(const std::string& pem) {
  const auto damaged = [](const std::string& what) {
    return DataLoss(what + "; remove the file for a new identity (all workers need new tokens)");
  };
  const OwnedBio bio = ReadBio(pem);
  const OwnedKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const OwnedCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  const OwnedCertificate authority(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  const OwnedKey authority_key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (key == nullptr || certificate == nullptr || authority == nullptr ||
      authority_key == nullptr) {
    ERR_clear_error();
    return damaged("expected a key, two certificates and a key (PEM)");
  }
  const bool fits = X509_check_private_key(certificate.get(), key.get()) == 1 &&
                    X509_verify(certificate.get(), authority_key.get()) == 1 &&
                    X509_check_private_key(authority.get(), authority_key.get()) == 1;
  ERR_clear_error();
  if (!fits) return damaged("its keys and certificates do not fit together");
  return ToIdentity(key, certificate, authority, authority_key);
}

Result<WorkerIdentity> DeriveWorkerIdentity(const JoinToken& token) {
  TUNE_ASSIGN_OR_RETURN(const OwnedKey key, DeriveKey(token));
  TUNE_ASSIGN_OR_RETURN(
      const OwnedCertificate certificate,
      Certify({"tune worker", false, "critical,digitalSignature"}, key.get(), nullptr, key.get()));
  WorkerIdentity identity;
  TUNE_ASSIGN_OR_RETURN(identity.key, KeyToPem(key.get()));
  TUNE_ASSIGN_OR_RETURN(identity.certificate, CertificateToPem(certificate.get()));
  return identity;
}

Result<ServerIdentity> MakeServerIdentity(const std::vector<std::string>& hosts) {
  const OwnedKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpensslFailed("make a key");
  TUNE_ASSIGN_OR_RETURN(const OwnedCertificate certificate,
                        Certify({"tune page", false, "critical,digitalSignature",
                                 AlternativeNames(hosts), "serverAuth"},
                                key.get(), nullptr, key.get()));
  ServerIdentity identity;
  TUNE_ASSIGN_OR_RETURN(identity.key, KeyToPem(key.get()));
  TUNE_ASSIGN_OR_RETURN(identity.certificates, CertificateToPem(certificate.get()));
  return identity;
}

Result<ServerIdentity> ReadServerIdentity(const NamedPem& certificates, const NamedPem& key,
                                          Instant now) {
  const OwnedBio certificate_bio = ReadBio(certificates.text);
  const OwnedCertificate certificate(
      PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) {
    return InvalidArgument(certificates.name +
                           ": there is no certificate in it, expected PEM that begins with "
                           "-----BEGIN CERTIFICATE-----");
  }
  bool is_locked = false;  // Asked for a password, OpenSSL would ask on the terminal.
  const auto no_password = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  const OwnedBio key_bio = ReadBio(key.text);
  const OwnedKey read_key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_password, &is_locked));
  ERR_clear_error();
  if (is_locked) {
    return InvalidArgument(key.name +
                           ": a password locks the key, expected one without: openssl pkey -in "
                           "FILE -out OTHER, and chmod go= OTHER");
  }
  if (read_key == nullptr) {
    return InvalidArgument(key.name +
                           ": there is no private key in it, expected PEM that begins with "
                           "-----BEGIN PRIVATE KEY-----");
  }
  const bool fits = X509_check_private_key(certificate.get(), read_key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return InvalidArgument(key.name + ": the key is not that of the certificate in " +
                           certificates.name + "; name the two files that were made together");
  }
  const Instant begin = ToInstant(X509_get0_notBefore(certificate.get()));
  const Instant end = ToInstant(X509_get0_notAfter(certificate.get()));
  if (end < now) {
    return InvalidArgument(certificates.name + ": the certificate expired at " +
                           FormatInstant(end) + "; renew it");
  }
  if (now < begin) {
    return InvalidArgument(certificates.name + ": the certificate counts from " +
                           FormatInstant(begin) + " on; look at this machine's clock");
  }
  return ServerIdentity{key.text, certificates.text};
}

std::string FormatFingerprint(const Fingerprint& fingerprint) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const uint8_t byte : fingerprint) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<Fingerprint> FingerprintOf(std::string_view certificate) {
  TUNE_ASSIGN_OR_RETURN(const OwnedCertificate read, CertificateFromPem(certificate));
  Fingerprint fingerprint{};
  if (X509_digest(read.get(), EVP_sha256(), fingerprint.data(), nullptr) != 1) {
    return OpensslFailed("digest a certificate");
  }
  return fingerprint;
}

Result<std::string> KeyHashOf(std::string_view certificate) {
  TUNE_ASSIGN_OR_RETURN(const OwnedCertificate read, CertificateFromPem(certificate));
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(read.get()), &der);
  if (size <= 0) return OpensslFailed("read a certificate's key");
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(der, static_cast<size_t>(size), digest);
  OPENSSL_free(der);
  return ToHex(digest, sizeof digest);
}

}  // namespace tune
