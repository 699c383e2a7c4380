// How the gateway's encrypted port knows its callers: mutual TLS in which the caller's certificate
// is self-signed and its key alone counts. The handshake proves that the caller has the key; the
// admission is asked whether it knows it, before anything else is answered.
//
// gRPC's only hook there is its experimental TLS credentials (1.51: grpc::experimental).
//
// Thread rule: as Admission says, since gRPC asks from its own threads. The admission must outlive
// the server.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "trial_runner/admission.h"

namespace tune {

// PEM: the server's certificate, then its authority's.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const std::string& certificates,
                                                               const std::string& key,
                                                               Admission& admission);

}  // namespace tune
