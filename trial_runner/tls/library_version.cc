#include "trial_runner/tls/library_version.h"

#include <openssl/crypto.h>

namespace tune {

std::string OpensslLibraryVersion() {
  return std::string("OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING);
}

}  // namespace tune
