// Runs of one shape as lanes of one network on a card (models/train/lane_runner.h), for any Device
// of lane_network.h, so that it is tested without a card too. The data set lies on the card once,
// or streams to it (card_dataset.h): which, is decided for each network, so that a lane more is
// refused only where there is no room to stream. What all take of the card's memory together is
// capped at the sum of the lanes' shares.
//
// A launch of training moves every lane of its network. So the network has exactly the lanes of the
// step at hand: when those change (one joins, one leaves, one waits for the others), their states
// are read, a network of that many lanes is made on a device opened anew, since a captured step
// belongs to the network that it was captured with, and the states are put there. An evaluation
// moves none, and runs on what network is there.
//
// Thread rule: one thread. Errors: the device's; each call after one answers with it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "models/cuda/card_network.h"
#include "models/cuda/memory_budget.h"
#include "models/train/lane_runner.h"

namespace tune::models::cuda {

template <class Device, class T>
class CardLaneRunner final : public LaneRunner {
 public:
  // A device whose memory is of this budget.
  using OpenDevice =
      std::function<Result<std::unique_ptr<Device>>(std::shared_ptr<MemoryBudget> budget)>;

  CardLaneRunner(OpenDevice open, const NetworkOptions& options,
                 std::shared_ptr<const Dataset> dataset)
      : open_(std::move(open)),
        options_(options),
        architecture_(BuildArchitecture(options)),
        set_(std::move(dataset)) {}

  Result<NetworkTensors*> Add(uint64_t seed, const LaneResources& resources) override {
    lanes_.push_back(std::make_unique<Lane>(*this, seed, resources.device_bytes));
    NetworkTensors* const lane = lanes_.back().get();
    SetBudget();
    if (const Status opened = EnsureDevice(); !opened.ok()) {
      Remove(lane);
      return opened;
    }
    return lane;
  }

  void Remove(NetworkTensors* tensors) override {
    std::replace(slots_.begin(), slots_.end(), static_cast<Lane*>(tensors),
                 static_cast<Lane*>(nullptr));
    std::erase_if(lanes_, [tensors](const auto& lane) { return lane.get() == tensors; });
    SetBudget();
  }

  std::string Note() const override { return set_.About(); }
  const CardDataset<Device>& set() const { return set_; }

  std::vector<Result<BatchResult>> Run(std::span<const LaneStep> steps) override {
    std::vector<Lane*> lanes;
    for (const LaneStep& step : steps) lanes.push_back(static_cast<Lane*>(step.lane));
    const bool trains = steps.front().step.trains();
    const bool are_there = std::all_of(lanes.begin(), lanes.end(),
                                       [this](const Lane* lane) { return SlotOf(*lane) >= 0; });
    const bool has_network = trains ? slots_ == lanes : are_there;
    Status composed = has_network ? OkStatus() : Compose(lanes);
    Status refusal;
    while (composed.code() == StatusCode::kResourceExhausted && lanes.size() > 1) {
      refusal = composed;
      lanes.pop_back();
      composed = Compose(lanes);
    }
    std::vector<Result<BatchResult>> results;
    if (!composed.ok()) {
      refusal = composed;
    } else {
      const auto held = steps.first(lanes.size());
      results = ResultsOf(held, trains ? Train(held) : Evaluate(held));
    }
    while (results.size() < steps.size()) results.push_back(refusal);
    return results;
  }

 private:
  // A lane's state is in its slot of the network, or, if it has none, here.
  class Lane final : public NetworkTensors {
   public:
    Lane(CardLaneRunner& owner, uint64_t seed, int64_t its_device_bytes)
        : device_bytes(its_device_bytes),
          state(InitialState(owner.architecture_, seed)),
          owner_(owner) {}

    Result<std::vector<NamedTensor>> ExportWeights() const override {
      TUNE_RETURN_IF_ERROR(owner_.Fetch(*this));
      return models::ExportWeights(owner_.architecture_, state);
    }
    Status ImportWeights(std::span<const NamedTensor> tensors, bool head_optional) override {
      TUNE_RETURN_IF_ERROR(owner_.Fetch(*this));
      TUNE_RETURN_IF_ERROR(
          models::ImportWeights(owner_.architecture_, tensors, head_optional, &state));
      return owner_.Put(*this);
    }
    Result<std::vector<NamedTensor>> ExportOptimizer() const override {
      TUNE_RETURN_IF_ERROR(owner_.Fetch(*this));
      return models::ExportOptimizer(owner_.architecture_, state);
    }
    Status ImportOptimizer(std::span<const NamedTensor> tensors) override {
      TUNE_RETURN_IF_ERROR(owner_.Fetch(*this));
      TUNE_RETURN_IF_ERROR(models::ImportOptimizer(owner_.architecture_, tensors, &state));
      return owner_.Put(*this);
    }

    const int64_t device_bytes;
    // Its counts are the lane's; its floats are what was last set or read.
    mutable NetworkState state;

   private:
    CardLaneRunner& owner_;
  };

  int SlotOf(const Lane& lane) const {
    const auto found = std::find(slots_.begin(), slots_.end(), &lane);
    return found == slots_.end() ? -1 : static_cast<int>(found - slots_.begin());
  }
  Status Fetch(const Lane& lane) const {
    const int slot = SlotOf(lane);
    return slot < 0 ? OkStatus() : network_->ReadState(slot, &lane.state);
  }
  Status Put(const Lane& lane) {
    const int slot = SlotOf(lane);
    return slot < 0 ? OkStatus() : network_->SetState(slot, lane.state);
  }

  // What is taken when a lane leaves is given back by the next network.
  void SetBudget() {
    int64_t sum = 0;
    for (const auto& lane : lanes_) {
      if (lane->device_bytes == 0) return budget_->SetMax(0);
      sum += lane->device_bytes;
    }
    budget_->SetMax(CapOfShare(sum));
  }

  // So that who cannot have one hears of it at once.
  Status EnsureDevice() {
    if (device_ != nullptr) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(device_, open_(budget_));
    return OkStatus();
  }

  // Makes the network that of these lanes. It comes before the data set, which can stream.
  Status Compose(const std::vector<Lane*>& lanes) {
    for (const Lane* const lane : slots_) {
      if (lane != nullptr) TUNE_RETURN_IF_ERROR(Fetch(*lane));
    }
    slots_.clear();
    set_.EndStream();
    const int lane_count = static_cast<int>(lanes.size());
    Status made = MakeNetwork(lane_count);
    if (made.code() == StatusCode::kResourceExhausted) {
      set_.Clear();
      made = MakeNetwork(lane_count);
    }
    TUNE_RETURN_IF_ERROR(made);
    TUNE_RETURN_IF_ERROR(set_.Place(*device_, int64_t{lane_count} * options_.batch_max));
    for (size_t i = 0; i < lanes.size(); ++i) {
      TUNE_RETURN_IF_ERROR(network_->SetState(static_cast<int>(i), lanes[i]->state));
    }
    slots_ = lanes;
    return OkStatus();
  }

  Status MakeNetwork(int lane_count) {
    network_.reset();  // Its memory is needed.
    device_.reset();
    TUNE_RETURN_IF_ERROR(EnsureDevice());
    network_ = std::make_unique<LaneNetwork<Device, T>>(*device_, options_, lane_count);
    return network_->status();
  }

  // The steps' images for all slots; one that has no step gets the first's.
  Result<std::vector<ImageInput>> MakeImages(std::span<const LaneStep> steps) {
    std::vector<BatchStep> of_slots;
    for (const Lane* const lane : slots_) {
      const auto own = std::find_if(steps.begin(), steps.end(),
                                    [lane](const LaneStep& step) { return step.lane == lane; });
      of_slots.push_back(own == steps.end() ? steps.front().step : own->step);
    }
    TUNE_ASSIGN_OR_RETURN(CardImages images, set_.Bring(of_slots));
    network_->MakeImages(images.set, images.inputs);
    return std::move(images.inputs);
  }

  Result<std::vector<ImageResult>> Train(std::span<const LaneStep> steps) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<ImageInput> inputs, MakeImages(steps));
    std::vector<LaneInput> lanes;
    for (size_t i = 0; i < steps.size(); ++i) {
      lanes.push_back(ToLaneInput(steps[i].step.options, slots_[i]->state));
    }
    std::vector<ImageResult> results(inputs.size());
    TUNE_RETURN_IF_ERROR(network_->Train(lanes, inputs, results));
    for (size_t i = 0; i < steps.size(); ++i) CountStep(steps[i].step.options, slots_[i]->state);
    return results;
  }

  Result<std::vector<ImageResult>> Evaluate(std::span<const LaneStep> steps) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<ImageInput> inputs, MakeImages(steps));
    std::vector<ImageResult> results(inputs.size());
    TUNE_RETURN_IF_ERROR(network_->Evaluate(inputs, results, {}));
    return results;
  }

  std::vector<Result<BatchResult>> ResultsOf(
      std::span<const LaneStep> steps, const Result<std::vector<ImageResult>>& results) const {
    std::vector<Result<BatchResult>> totals;
    const size_t batch = static_cast<size_t>(steps.front().step.count);
    for (const LaneStep& step : steps) {
      if (!results.ok()) {
        totals.push_back(results.status());
        continue;
      }
      const size_t slot = static_cast<size_t>(SlotOf(*static_cast<const Lane*>(step.lane)));
      totals.push_back(Total(std::span(*results).subspan(slot * batch, batch)));
    }
    return totals;
  }

  const OpenDevice open_;
  const NetworkOptions options_;
  const Architecture architecture_;
  const std::shared_ptr<MemoryBudget> budget_ = std::make_shared<MemoryBudget>();
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Device> device_;  // From the first lane on.
  CardDataset<Device> set_;         // Placed beside the network.
  std::unique_ptr<LaneNetwork<Device, T>> network_;
  std::vector<Lane*> slots_;  // Of the network; null: its lane was removed.
};

}  // namespace tune::models::cuda
