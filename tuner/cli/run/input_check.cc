#include "tuner/cli/run/input_check.h"

#include <string>

#include "core/json.h"
#include "trial_runner/bucket/bucket_data.h"
#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/food11_inputs.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

constexpr Duration kListPatience = Seconds(60);

Result<DataState> LookAt(const CommandInput& input, const std::stop_token& stop = {}) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<S3Client> client, S3Client::Make(input.from.bucket));
  TUNE_ASSIGN_OR_RETURN(const DataListing listing,
                        ListData(*client, input.from.key, StopLater(kListPatience, stop).token()));
  const DataSeen& seen = listing.seen;
  return DataState{seen.url, seen.file_count, seen.bytes, seen.hash};
}

Result<std::vector<CommandInput>> InputsOf(const ExperimentSpec& spec) {
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "food11") return ReadCommandInputs(spec.trainable);
  const Value* const data = spec.space.is_map() ? spec.space.Find("data") : nullptr;
  if (data != nullptr && !data->is_scalar() && ToJson(*data).find("\"s3://") != std::string::npos) {
    return InvalidArgument(
        "data: what lies in an object store must be the same for all trials; write "
        "data: s3://bucket/prefix, without a domain");
  }
  return ReadFood11Inputs(spec.space);
}

}  // namespace

std::vector<DataState> LookAtInputs(const ExperimentSpec& spec, const std::stop_token& stop) {
  std::vector<DataState> states;
  const Result<std::vector<CommandInput>> inputs = InputsOf(spec);
  if (!inputs.ok()) return states;
  for (const CommandInput& input : *inputs) {
    Result<DataState> state = LookAt(input, stop);
    if (state.ok()) states.push_back(*std::move(state));
  }
  return states;
}

Status CheckBucketInputs(const ExperimentSpec& spec) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<CommandInput> inputs, InputsOf(spec));
  for (const CommandInput& input : inputs) {
    const Status looked = LookAt(input).status();
    if (looked.ok()) continue;
    const bool is_command = !ReadCommandInputs(spec.trainable)->empty();
    const std::string text = (is_command ? "trainable: inputs: " : "data: ") + looked.message();
    const bool is_for_nobody = looked.code() == StatusCode::kNotFound ||
                               looked.code() == StatusCode::kFailedPrecondition ||
                               looked.message().find("NoSuchBucket") != std::string::npos;
    if (is_for_nobody) return InvalidArgument(text);
    Tell("warning: " + text + "; workers fetch it with credentials of their own");
  }
  return OkStatus();
}

}  // namespace tune
