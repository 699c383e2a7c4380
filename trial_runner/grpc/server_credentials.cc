#include "trial_runner/grpc/server_credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <functional>
#include <string_view>
#include <vector>

namespace tune {
namespace {

class KnownKeyVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit KnownKeyVerifier(Admission* admission) : admission_(*admission) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status* status) override {
    const grpc::string_ref certificate = request->peer_cert();
    *status = admission_.Knows(std::string_view(certificate.data(), certificate.size()))
                  ? grpc::Status::OK
                  : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "unknown key");
    return true;  // Answered at once.
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  Admission& admission_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const std::string& certificates,
                                                               const std::string& key,
                                                               Admission& admission) {
  const std::vector<grpc::experimental::IdentityKeyCertPair> identity = {{key, certificates}};
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::StaticDataCertificateProvider>(identity));
  options.watch_identity_key_cert_pairs();
  // A certificate is demanded, with proof of its key; that it is self-signed is meant.
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<KnownKeyVerifier>(&admission));
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace tune
