// What `--listen` and `tune tokens` need: the address, the certificates and tokens beside the
// database, and the line with which workers join.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/tls/token_gate.h"

namespace tune {

inline constexpr char kListenOff[] = "off";                       // --listen of a resume.
inline constexpr Duration kTokenValidity = Seconds(30 * 86'400);  // Without --token-expires.
inline constexpr Duration kTokenValidityMax = Seconds(3'650 * 86'400.0);

// Whether `listen` is HOST:PORT, an address of this machine, and free. The gateway binds it again a
// moment later; who comes between is told then. Nothing to check when it is empty.
Status CheckListen(const std::string& listen);

// Where a resumed sweep listens: `listen` if it is given ("off": nowhere), else where it did
// before, so that its workers find it again.
Result<std::string> ListenOfResume(const std::string& listen, const std::string& artifacts_dir,
                                   const std::string& sweep);

// "tune worker --connect HOST:PORT --join TOKEN". `address` is what is listened on; for 0.0.0.0 and
// [::] the line has an address of this machine that others reach.
std::string JoinLine(const std::string& address, const std::string& token);

// 128 random bits as hexadecimal digits: the secret between a tuner and its own worker.
std::string DrawLocalSecret();

// A sweep that listens for other machines.
class Listening {
 public:
  // Makes the folder with the certificates if it is not there. The clock must outlive it.
  static Result<std::unique_ptr<Listening>> Prepare(const std::string& listen,
                                                    const std::string& artifacts_dir,
                                                    const Clock& clock);

  // For the gateway, which must not outlive this.
  const WorkerGateway::Options::Tls& gateway_options() const { return options_; }

  // Once the gateway listens on `address`: keeps it for a resume, makes a token, and returns the
  // join line.
  Result<std::string> Invite(const std::string& sweep, const std::string& address,
                             Duration validity);

 private:
  Listening(TlsFolder folder, const Clock& clock)
      : folder_(std::move(folder)), clock_(clock), gate_(folder_, clock) {}

  TlsFolder folder_;
  const Clock& clock_;
  TokenGate gate_;
  WorkerGateway::Options::Tls options_;
};

// A sweep that does not listen (any more): a resume does not either.
Status ForgetListening(const std::string& artifacts_dir, const std::string& sweep);

}  // namespace tune
