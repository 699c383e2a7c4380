// Who may connect from elsewhere: what the gateway asks about each encrypted connection. The real
// one reads the tokens beside the database (trial_runner/tls/token_gate.h).
//
// Thread rule: any thread, several at once.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

class Admission {
 public:
  virtual ~Admission() = default;
  // Whether the key of this certificate (PEM) belongs to a token that was made here, good or not.
  // Others are not spoken to at all.
  virtual bool Knows(std::string_view certificate) = 0;
  // When a worker attaches: the id of its token, or kFailedPrecondition with one line for the
  // worker that says why it may not (any more). kUnavailable: that cannot be told at the moment.
  virtual Result<std::string> Admit(std::string_view certificate) = 0;
  // When a worker makes a call beside its stream: as Admit, but an expired token is still good.
  // Only an attached worker has anything to ask, and its token was looked at when it attached.
  virtual Result<std::string> AdmitCall(std::string_view certificate) = 0;
  // While it is attached: kFailedPrecondition when its token has been revoked since.
  virtual Status StillAdmits(std::string_view token_id) = 0;
};

}  // namespace tune
