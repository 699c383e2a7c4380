// OpenSSL's objects with their ends, and its last error as a text.
//
// Thread rule: as OpenSSL's: an object belongs to one thread; the errors are the thread's own.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

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

}  // namespace tune
