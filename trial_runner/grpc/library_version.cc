#include "trial_runner/grpc/library_version.h"

#include <grpcpp/grpcpp.h>

namespace tune {

std::string GrpcLibraryVersion() { return "gRPC " + grpc::Version(); }

}  // namespace tune
