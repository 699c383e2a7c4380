// A worker's first look at its tuner, before gRPC: is anybody there, is it the tuner that made the
// token, does it know the token? gRPC would say of all this that the connection failed.
//
// Thread rule: one call at a time a thread; it waits for the network.
#pragma once

#include <string>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/network_address.h"
#include "trial_runner/tls/certificates.h"

namespace tune {

// Returns the certificate (PEM) of the tuner's authority, which is the one that the token names, so
// that gRPC can be told to trust it alone. kInvalidArgument: the host is unknown.
// kFailedPrecondition: no TLS there, another tuner, or one that does not know this token.
// kUnavailable: nobody there, no answer, or a connection that is closed without a byte; each step
// waits at most `patience`.
Result<std::string> ProbeTuner(const NetworkAddress& address, const JoinToken& token,
                               const WorkerIdentity& worker, Duration patience);

}  // namespace tune
