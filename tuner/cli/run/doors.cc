#include "tuner/cli/run/doors.h"

#include <functional>
#include <utility>

#include "trial_runner/bucket/lent_requests.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/package/artifact_depot.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/working_folder.h"

namespace tune {
namespace {

using Signer = std::function<Result<std::string>(const SignStoreRequest&)>;

// Of what workers ask of the sweep's object store; null: they have credentials of their own.
Signer SignerFor(const std::string& sweep, const CheckpointPolicy& policy) {
  const Result<S3Address> storage = ParseS3Url(policy.storage);
  if (!policy.lends_credentials || !storage.ok()) return nullptr;
  const S3Address root = storage->Below(sweep);
  const auto client = S3Client::Make(root.bucket);
  return [root, client](const SignStoreRequest& request) -> Result<std::string> {
    TUNE_RETURN_IF_ERROR(client.status());
    TUNE_RETURN_IF_ERROR(CheckLentRequest(request, root.key));
    return (*client)->Presign({request.method, request.key, request.query, request.sha256}, {});
  };
}

}  // namespace

Result<std::unique_ptr<Doors>> Doors::Open(const DoorOptions& options, const Clock& clock,
                                           IncomingSink& sink) {
  std::unique_ptr<Doors> doors(new Doors(options));
  WorkerGateway::Options at_gateway;
  at_gateway.first_worker = options.first_worker;
  at_gateway.packages = &doors->packages_;
  if (options.has_local_worker) {
    doors->local_secret_ = at_gateway.local_secret = DrawLocalSecret();
  } else {
    at_gateway.listen.clear();
  }
  if (!options.listen.empty()) {
    TUNE_ASSIGN_OR_RETURN(doors->listening_,
                          Listening::Prepare(options.listen, options.artifacts_dir, clock));
    at_gateway.tls = doors->listening_->gateway_options();
    at_gateway.checkpoints = &doors->depots_;
  }
  TUNE_ASSIGN_OR_RETURN(doors->gateway_, WorkerGateway::Start(at_gateway, sink));
  if (!doors->listens()) {
    TUNE_RETURN_IF_ERROR(ForgetListening(options.artifacts_dir, options.kept_as));
    return doors;
  }
  TUNE_ASSIGN_OR_RETURN(doors->join_line_,
                        doors->listening_->Invite(options.kept_as, doors->gateway_->tls_address(),
                                                  options.token_validity));
  return doors;
}

Status Doors::AddSweep(ExperimentId id, const std::string& name, const ExperimentSpec& spec,
                       std::shared_ptr<const PackageSource> package) {
  if (package != nullptr) {
    packages_of_[id] = package->name();
    packages_.Add(std::move(package));
  }
  if (listens()) {
    TUNE_ASSIGN_OR_RETURN(
        auto depot,
        ArtifactDepot::Make({options_.artifacts_dir + "/" + name, options_.checkpoint_bytes_max,
                             WorkingFolder(spec.trainable, spec.base_dir),
                             SignerFor(name, spec.checkpoint)}));
    depots_.Add(id, std::move(depot));
  }
  return OkStatus();
}

void Doors::DropSweep(ExperimentId id) {
  depots_.Drop(id);
  const auto package = packages_of_.find(id);
  if (package == packages_of_.end()) return;
  packages_.Drop(package->second);
  packages_of_.erase(package);
}

}  // namespace tune
