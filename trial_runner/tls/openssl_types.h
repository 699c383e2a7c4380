// OpenSSL's objects with their ends; its last error and its certificates as texts.
//
// Thread rule: as OpenSSL's: an object belongs to one thread; the errors are the thread's own.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "core/status.h"

namespace tune {

template <auto kFree>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using OwnedBio = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using OwnedCertificate = std::unique_ptr<X509, OpensslFree<X509_free>>;
using OwnedSslContext = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using OwnedSsl = std::unique_ptr<SSL, OpensslFree<SSL_free>>;

// The oldest error of this thread, in OpenSSL's words; forgets all.
inline std::string TakeOpensslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

// What was written to a BIO in memory.
inline std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size <= 0 ? std::string() : std::string(data, static_cast<size_t>(size));
}

inline Result<std::string> CertificateToPem(X509* certificate) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), certificate) != 1) {
    return Internal("cannot write a certificate: " + TakeOpensslError());
  }
  return TextOf(bio.get());
}

}  // namespace tune
