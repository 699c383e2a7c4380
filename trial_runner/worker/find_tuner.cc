#include "trial_runner/worker/find_tuner.h"

#include "core/limits.h"
#include "trial_runner/tls/tuner_probe.h"

namespace tune {

Result<TunerEndpoint> FindTuner(const WorkerOptions& options) {
  TunerEndpoint tuner;
  TUNE_ASSIGN_OR_RETURN(tuner.address, ParseNetworkAddress(options.connect));
  if (tuner.address.port == 0 || tuner.address.is_any()) {
    return InvalidArgument("address '" + options.connect +
                           "': expected the host and port in the tuner's line, a port above 0");
  }
  if (options.join.empty()) {
    // Encrypted and with a token, or on this machine and started by the tuner itself.
    const bool is_own = options.is_local || !options.local_secret.empty();
    if (!is_own || !tuner.address.is_loopback()) {
      return InvalidArgument(
          "--join TOKEN is missing; copy the line that tune run --listen prints, or make a token "
          "with tune tokens --new");
    }
    tuner.local_secret = options.local_secret;
    return tuner;
  }
  TUNE_ASSIGN_OR_RETURN(const JoinToken token, ParseJoinToken(options.join));
  TUNE_ASSIGN_OR_RETURN(const WorkerIdentity worker, DeriveWorkerIdentity(token));
  TUNE_ASSIGN_OR_RETURN(
      const std::string authority,
      ProbeTuner(tuner.address, token, worker, Milliseconds(limits::kJoinProbeMs)));
  tuner.tls = {authority, kTunerCertificateName, worker.certificate, worker.key};
  return tuner;
}

}  // namespace tune
