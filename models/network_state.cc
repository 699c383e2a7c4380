#include "models/network_state.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace tune::models {
namespace {

constexpr std::string_view kHeadPrefix = "classifier.";
constexpr const char* kHeadSteps = "adam.step/head";
constexpr const char* kBackboneSteps = "adam.step/backbone";

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

NamedTensor Copy(std::string name, const TensorSpec& spec, const float* array) {
  const float* begin = array + spec.offset;
  return {std::move(name), spec.shape, std::vector<float>(begin, begin + spec.size())};
}

// Tensors by name, each taken once; what nobody took is unknown to the network.
class TensorSource {
 public:
  static Result<TensorSource> Read(std::span<const NamedTensor> tensors) {
    TensorSource source;
    for (const NamedTensor& tensor : tensors) {
      if (!source.by_name_.emplace(tensor.name, &tensor).second) {
        return InvalidArgument("tensor " + tensor.name + " is there twice");
      }
    }
    return source;
  }

  bool Has(const std::string& name) const { return by_name_.contains(name); }

  bool Fits(const std::string& name, const std::vector<int64_t>& shape) const {
    const auto found = by_name_.find(name);
    return found != by_name_.end() && found->second->shape == shape &&
           static_cast<int64_t>(found->second->data.size()) == ElementCount(shape);
  }

  // Copies the tensor to `target` and forgets it.
  Status Take(const std::string& name, const std::vector<int64_t>& shape, float* target) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) {
      return InvalidArgument("tensor " + name + " is missing; it has shape " + ShapeText(shape));
    }
    if (!Fits(name, shape)) {
      return InvalidArgument("tensor " + name + " has shape " + ShapeText(found->second->shape) +
                             " and " + std::to_string(found->second->data.size()) +
                             " values, expected " + ShapeText(shape) +
                             "; the weights are of a network with other options");
    }
    std::copy(found->second->data.begin(), found->second->data.end(), target);
    by_name_.erase(found);
    return OkStatus();
  }

  Status TakeCount(const std::string& name, int64_t* target) {
    float value = 0;
    TUNE_RETURN_IF_ERROR(Take(name, {}, &value));
    if (!(value >= 0 && value < 1e15f)) {
      return InvalidArgument("tensor " + name + " is " + std::to_string(value) +
                             ", expected a count of steps");
    }
    *target = static_cast<int64_t>(value);
    return OkStatus();
  }

  void Forget(const std::string& name) { by_name_.erase(name); }

  Status CheckAllTaken() const {
    if (by_name_.empty()) return OkStatus();
    return InvalidArgument("tensor " + by_name_.begin()->first +
                           " is unknown; expected the names of torchvision's mobilenet_v2");
  }

 private:
  std::map<std::string, const NamedTensor*, std::less<>> by_name_;
};

bool IsHead(const TensorSpec& spec) { return spec.name.starts_with(kHeadPrefix); }

}  // namespace

NetworkState InitialState(const Architecture& architecture, uint64_t seed) {
  NetworkState state;
  state.parameters = InitialParameters(architecture, seed);
  state.statistics.assign(architecture.statistic_count, 0.0f);
  for (const TensorSpec& spec : architecture.tensors) {
    if (spec.role != TensorRole::kRunningVariance) continue;
    std::fill_n(state.statistics.begin() + spec.offset, spec.size(), 1.0f);
  }
  state.batch_counts.assign(architecture.convolutions.size(), 0);
  state.adam_m.assign(architecture.parameter_count, 0.0f);
  state.adam_v.assign(architecture.parameter_count, 0.0f);
  return state;
}

std::vector<NamedTensor> ExportWeights(const Architecture& architecture,
                                       const NetworkState& state) {
  std::vector<NamedTensor> tensors;
  size_t batch_norm = 0;
  for (const TensorSpec& spec : architecture.tensors) {
    if (spec.role == TensorRole::kBatchCount) {
      tensors.push_back({spec.name, {}, {static_cast<float>(state.batch_counts[batch_norm++])}});
    } else {
      const auto& array = spec.is_parameter() ? state.parameters : state.statistics;
      tensors.push_back(Copy(spec.name, spec, array.data()));
    }
  }
  return tensors;
}

std::vector<NamedTensor> ExportParameters(const Architecture& architecture,
                                          std::span<const float> parameters, bool backbone) {
  std::vector<NamedTensor> tensors;
  for (const TensorSpec& spec : architecture.tensors) {
    if (!spec.is_parameter() || !(backbone || IsHead(spec))) continue;
    tensors.push_back(Copy(spec.name, spec, parameters.data()));
  }
  return tensors;
}

std::vector<NamedTensor> ExportOptimizer(const Architecture& architecture,
                                         const NetworkState& state) {
  std::vector<NamedTensor> tensors;
  for (const TensorSpec& spec : architecture.tensors) {
    if (!spec.is_parameter()) continue;
    tensors.push_back(Copy("adam.m/" + spec.name, spec, state.adam_m.data()));
    tensors.push_back(Copy("adam.v/" + spec.name, spec, state.adam_v.data()));
  }
  tensors.push_back({kHeadSteps, {}, {static_cast<float>(state.head_steps)}});
  tensors.push_back({kBackboneSteps, {}, {static_cast<float>(state.backbone_steps)}});
  return tensors;
}

Status ImportWeights(const Architecture& architecture, std::span<const NamedTensor> tensors,
                     bool head_optional, NetworkState* state) {
  TUNE_ASSIGN_OR_RETURN(TensorSource source, TensorSource::Read(tensors));
  NetworkState result = *state;
  const bool keep_head =
      head_optional && std::ranges::any_of(architecture.tensors, [&](const TensorSpec& spec) {
        return IsHead(spec) && !source.Fits(spec.name, spec.shape);
      });
  size_t batch_norm = 0;
  for (const TensorSpec& spec : architecture.tensors) {
    if (keep_head && IsHead(spec)) {
      source.Forget(spec.name);
    } else if (spec.role == TensorRole::kBatchCount) {
      // Many files lack these counts, and nothing is computed from them.
      int64_t& count = result.batch_counts[batch_norm++];
      if (source.Has(spec.name)) TUNE_RETURN_IF_ERROR(source.TakeCount(spec.name, &count));
    } else {
      auto& array = spec.is_parameter() ? result.parameters : result.statistics;
      TUNE_RETURN_IF_ERROR(source.Take(spec.name, spec.shape, array.data() + spec.offset));
    }
  }
  TUNE_RETURN_IF_ERROR(source.CheckAllTaken());
  *state = std::move(result);
  return OkStatus();
}

Status ImportOptimizer(const Architecture& architecture, std::span<const NamedTensor> tensors,
                       NetworkState* state) {
  TUNE_ASSIGN_OR_RETURN(TensorSource source, TensorSource::Read(tensors));
  NetworkState result = *state;
  for (const TensorSpec& spec : architecture.tensors) {
    if (!spec.is_parameter()) continue;
    float* const m = result.adam_m.data() + spec.offset;
    float* const v = result.adam_v.data() + spec.offset;
    TUNE_RETURN_IF_ERROR(source.Take("adam.m/" + spec.name, spec.shape, m));
    TUNE_RETURN_IF_ERROR(source.Take("adam.v/" + spec.name, spec.shape, v));
  }
  TUNE_RETURN_IF_ERROR(source.TakeCount(kHeadSteps, &result.head_steps));
  TUNE_RETURN_IF_ERROR(source.TakeCount(kBackboneSteps, &result.backbone_steps));
  TUNE_RETURN_IF_ERROR(source.CheckAllTaken());
  *state = std::move(result);
  return OkStatus();
}

}  // namespace tune::models
