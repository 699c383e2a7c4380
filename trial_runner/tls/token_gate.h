// Admits workers by the tokens beside the database. `tune tokens` changes them while a tuner lives:
// each question looks whether the file has changed, and reads it again if so.
//
// Thread rule: as Admission says.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "trial_runner/admission.h"
#include "trial_runner/tls/tls_folder.h"

namespace tune {

class TokenGate final : public Admission {
 public:
  // The clock must outlive the gate.
  TokenGate(TlsFolder folder, const Clock& clock) : folder_(std::move(folder)), clock_(clock) {}

  bool Knows(std::string_view certificate) override;
  // Also keeps the time as the token's last use.
  Result<std::string> Admit(std::string_view certificate) override;
  // Writes nothing: a worker makes many such calls.
  Result<std::string> AdmitCall(std::string_view certificate) override;
  // A token that expires while its worker is attached ends nothing; it joins no more.
  Status StillAdmits(std::string_view token_id) override;

 private:
  // Requires mutex_. A list that cannot be read admits nobody new; the last one stays.
  Status Refresh();
  // Requires mutex_. The record of this certificate's token; kFailedPrecondition: there is none.
  Result<const TokenRecord*> Find(std::string_view key_hash);

  const TlsFolder folder_;
  const Clock& clock_;
  std::mutex mutex_;
  bool has_read_ = false;
  std::string version_;
  TokenList tokens_;
};

}  // namespace tune
