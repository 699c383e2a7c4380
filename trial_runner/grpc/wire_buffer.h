// Bytes to and from gRPC's buffers, the settings that both ends share, and silence from gRPC's own
// log.
//
// Thread rule: pure functions; QuietGrpcLog once, before any other use of gRPC.
#pragma once

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>

#include "core/limits.h"

namespace tune {

inline constexpr char kAttachMethod[] = "/tune.v1.Tuner/Attach";
inline constexpr char kFetchMethod[] = "/tune.v1.Tuner/Fetch";
inline constexpr char kCheckpointMethod[] = "/tune.v1.Tuner/Checkpoint";

// What one side may send of a stream before the other has read it: enough for a link of 20 MB/s
// whose round trip is 50 ms.
inline constexpr int kStreamAheadBytes = 1 << 20;

// How a tuner's own worker shows that it is one (metadata of Attach).
inline constexpr char kLocalSecretKey[] = "tune-local-secret";

// For each end's channel arguments: a peer that is gone without a word (a pulled cable, a dead
// machine) is noticed, also while nothing is sent.
template <typename SetInt>
void SetKeepalive(SetInt set) {
  set(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(limits::kKeepaliveMs));
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(limits::kKeepaliveMs));
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      static_cast<int>(limits::kKeepaliveMs / 2));
}

// Our programs say in one line what went wrong; gRPC's log would say it again, at length.
inline void QuietGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args*) {});
}

inline grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// Calls `use` with the buffer's bytes, copied only if they lie in several pieces.
template <typename Use>
auto WithBytes(const grpc::ByteBuffer& buffer, Use use) {
  grpc::Slice slice;
  if (!buffer.TrySingleSlice(&slice).ok() && !buffer.DumpToSingleSlice(&slice).ok()) {
    return use(std::string_view());
  }
  return use(std::string_view(reinterpret_cast<const char*>(slice.begin()), slice.size()));
}

}  // namespace tune
