#include "trial_runner/grpc/dial.h"

#include "core/limits.h"
#include "trial_runner/grpc/wire_buffer.h"

namespace tune {
namespace {

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TunerEndpoint& tuner) {
  if (!tuner.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tuner.tls->authority;
  options.pem_private_key = tuner.tls->key;
  options.pem_cert_chain = tuner.tls->certificate;
  return grpc::SslCredentials(options);
}

// The scheme says what is an address, so that no name is looked up for it.
std::string TargetOf(const NetworkAddress& address) {
  const char* const scheme = address.is_ipv6() ? "ipv6:" : address.is_ipv4() ? "ipv4:" : "dns:///";
  return scheme + address.ToText();
}

}  // namespace

std::shared_ptr<grpc::Channel> DialTuner(const TunerEndpoint& tuner) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(limits::kMessageBytesMax));
  arguments.SetMaxSendMessageSize(static_cast<int>(limits::kMessageBytesMax));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamAheadBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // gRPC bounds one attempt by this. The kernel asks ever more seldom: a new attempt asks at once.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(limits::kConnectMs));
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetString(GRPC_ARG_OPTIMIZATION_TARGET, "latency");
  SetKeepalive([&](const char* name, int value) { arguments.SetInt(name, value); });
  if (tuner.tls) arguments.SetSslTargetNameOverride(tuner.tls->name);
  return grpc::CreateCustomChannel(TargetOf(tuner.address), MakeCredentials(tuner), arguments);
}

void ShowSecret(const TunerEndpoint& tuner, grpc::ClientContext& context) {
  if (!tuner.local_secret.empty()) context.AddMetadata(kLocalSecretKey, tuner.local_secret);
}

}  // namespace tune
