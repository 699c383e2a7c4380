// Our status codes and gRPC's, for calls whose end says what went wrong.
//
// Thread rule: pure functions.
#pragma once

#include <grpcpp/grpcpp.h>

#include "core/status.h"

namespace tune {

inline grpc::Status ToGrpc(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return grpc::Status::OK;
    case StatusCode::kInvalidArgument:
      return {grpc::StatusCode::INVALID_ARGUMENT, status.message()};
    case StatusCode::kNotFound:
      return {grpc::StatusCode::NOT_FOUND, status.message()};
    case StatusCode::kFailedPrecondition:
      return {grpc::StatusCode::FAILED_PRECONDITION, status.message()};
    case StatusCode::kPermissionDenied:
      return {grpc::StatusCode::PERMISSION_DENIED, status.message()};
    case StatusCode::kUnavailable:
      return {grpc::StatusCode::UNAVAILABLE, status.message()};
    case StatusCode::kResourceExhausted:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, status.message()};
    case StatusCode::kDataLoss:
      return {grpc::StatusCode::DATA_LOSS, status.message()};
    case StatusCode::kInternal:
      break;
  }
  return {grpc::StatusCode::INTERNAL, status.message()};
}

// What gRPC says of a call that broke off may work when it is tried again.
inline Status FromGrpc(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return OkStatus();
    case grpc::StatusCode::INVALID_ARGUMENT:
      return InvalidArgument(status.error_message());
    case grpc::StatusCode::NOT_FOUND:
      return NotFound(status.error_message());
    case grpc::StatusCode::FAILED_PRECONDITION:
      return FailedPrecondition(status.error_message());
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return ResourceExhausted(status.error_message());
    case grpc::StatusCode::DATA_LOSS:
      return DataLoss(status.error_message());
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNIMPLEMENTED:
      return Internal(status.error_message());
    default:
      return Unavailable(status.error_message());
  }
}

}  // namespace tune
