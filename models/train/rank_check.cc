#include "models/train/rank_check.h"

#include <array>
#include <utility>

#include "core/hash.h"
#include "core/json.h"
#include "core/random.h"
#include "models/cpu/adam.h"

namespace tune::models {
namespace {

constexpr char kSameData[] = "each machine needs the same data";

// A sum of ranks takes doubles, which hold no integer of 64 bits.
constexpr uint64_t kHalf = uint64_t{1} << 32;

std::string ValueText(const Alike& alike, uint64_t value) {
  return alike.is_hash ? "hash " + HashToHex(value) : std::to_string(value);
}

void AddOptions(const Food11Options& options, std::vector<Alike>& alike) {
  constexpr char kRemedy[] = "each rank needs the same configuration";
  const Value values = Food11OptionsToValue(options);
  for (const Food11Parameter& parameter : Food11Parameters()) {
    const std::string name(parameter.name);
    // Each machine has its own paths; what lies there is compared. Of devices all have agreed.
    if (name == "weights" || name == "data" || name == "device" || name == "lanes") continue;
    const Value* const value = values.Find(name);
    if (value != nullptr) alike.push_back({name, Xxh64(ToJson(*value)), true, kRemedy});
  }
  alike.push_back({"the seed", options.seed, false, kRemedy});
  alike.push_back(
      {"the metric of the best epoch", Xxh64(options.best_epoch.metric()), true, kRemedy});
}

void AddData(const Dataset& dataset, std::vector<Alike>& alike) {
  uint64_t names = 0;
  for (const std::string& name : dataset.class_names) names = Xxh64(name, names);
  alike.push_back({"the classes of the data", names, true, kSameData});
  for (const Split split : kSplits) {
    alike.push_back({"the number of images in " + std::string(SplitName(split)),
                     static_cast<uint64_t>(dataset.split(split).count()), false, kSameData});
  }
  alike.push_back({"the images of the data", dataset.hash, true, kSameData});
}

uint64_t HashOf(std::span<const float> numbers, uint64_t seed) {
  return Xxh64(std::as_bytes(numbers), seed);
}

uint64_t HashOf(std::span<const NamedTensor> tensors) {
  uint64_t hash = 0;
  for (const NamedTensor& tensor : tensors) hash = HashOf(tensor.data, Xxh64(tensor.name, hash));
  return hash;
}

// The one place where ranks compute the same and must come to the same bits: an update by the same
// gradients. Programs for other processors may contract other products and sums.
uint64_t UpdateHash() {
  constexpr int64_t kCount = 1003;
  KeyedRandom random(1, "how an update is rounded");
  const auto draw = [&random] {
    std::vector<float> numbers;
    for (int64_t i = 0; i < kCount; ++i) {
      numbers.push_back(static_cast<float>(random.NextDouble() - 0.5));
    }
    return numbers;
  };
  std::vector<float> parameters = draw(), m(kCount), v(kCount);
  uint64_t hash = 0;
  for (const int64_t step : {1, 2, 3, 1'000, 100'000}) {
    std::vector<float> gradient = draw();
    float* const gradients[] = {gradient.data()};
    cpu::AdamUpdate(kCount, {1e-3, 1e-2, step}, gradients, m.data(), v.data(), parameters.data());
    hash = HashOf(parameters, HashOf(v, HashOf(m, hash)));
  }
  return hash;
}

}  // namespace

Status CheckAlike(AllReduce& ranks, std::span<const Alike> mine) {
  const size_t world_size = static_cast<size_t>(ranks.world_size());
  // Of each rank two halves a value; each brings zeros in the others' places.
  std::vector<double> halves(2 * mine.size() * world_size);
  const auto at = [&mine](size_t rank, size_t i) { return 2 * (rank * mine.size() + i); };
  for (size_t i = 0; i < mine.size(); ++i) {
    const size_t place = at(static_cast<size_t>(ranks.rank()), i);
    halves[place] = static_cast<double>(mine[i].value / kHalf);
    halves[place + 1] = static_cast<double>(mine[i].value % kHalf);
  }
  TUNE_RETURN_IF_ERROR(ranks.Sum(std::span<double>(halves)));
  const auto value_of = [&](size_t rank, size_t i) {
    const size_t place = at(rank, i);
    return static_cast<uint64_t>(halves[place]) * kHalf + static_cast<uint64_t>(halves[place + 1]);
  };
  for (size_t i = 0; i < mine.size(); ++i) {
    for (size_t rank = 1; rank < world_size; ++rank) {
      const uint64_t first = value_of(0, i), other = value_of(rank, i);
      if (other == first) continue;
      return FailedPrecondition("the ranks cannot train together: they differ in " + mine[i].what +
                                ": rank " + std::to_string(rank) + " has " +
                                ValueText(mine[i], other) + ", rank 0 has " +
                                ValueText(mine[i], first) + "; " + mine[i].remedy);
    }
  }
  return OkStatus();
}

Result<std::vector<Alike>> AlikeOf(const TrainingRun& run, const Dataset& dataset,
                                   const MobileNetV2& network) {
  std::vector<Alike> alike;
  AddOptions(run.options(), alike);
  AddData(dataset, alike);
  if (network.options().device == DeviceKind::kCpu) {
    alike.push_back({"how their processors round an update of the weights", UpdateHash(), true,
                     "use workers with processors of one kind"});
  }
  alike.push_back({"the epochs that are behind them", run.history().size(), false,
                   "each rank needs the same checkpoint"});
  const bool has_file = !run.options().weights.empty() && run.history().empty();
  const std::string remedy =
      has_file ? "each machine needs the same file " + run.options().weights
               : "each rank needs the same checkpoint, and the machines the same libraries";
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> weights, network.ExportWeights());
  alike.push_back({"the weights that they begin with", HashOf(weights), true, remedy});
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedTensor> optimizer, network.ExportOptimizer());
  alike.push_back({"the optimizer's state that they begin with", HashOf(optimizer), true, remedy});
  return alike;
}

}  // namespace tune::models
