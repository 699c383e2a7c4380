#include "models/data/dataset.h"

#include <algorithm>
#include <utility>

#include "core/hash.h"

namespace tune::models {

std::string_view SplitName(Split split) {
  static constexpr std::array<std::string_view, 3> kNames = {"training", "validation",
                                                             "evaluation"};
  return kNames[static_cast<size_t>(split)];
}

std::string DescribeSkipped(std::span<const SkippedImage> skipped, size_t names_max) {
  if (skipped.empty()) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> names;  // By reason, as they come.
  for (const SkippedImage& file : skipped) {
    auto of = std::find_if(names.begin(), names.end(),
                           [&file](const auto& entry) { return entry.first == file.reason; });
    if (of == names.end()) of = names.insert(of, {file.reason, {}});
    of->second.push_back(file.path);
  }
  std::string line = skipped.size() == 1 ? "1 file is left out"
                                         : std::to_string(skipped.size()) + " files are left out";
  const char* separator = ": ";
  for (const auto& [reason, paths] : names) {
    const size_t shown = std::min(paths.size(), names_max);
    for (size_t i = 0; i < shown; ++i) line += (i == 0 ? separator : ", ") + paths[i];
    if (shown < paths.size()) line += " and " + std::to_string(paths.size() - shown) + " more";
    line += " (" + reason + ")";
    separator = "; ";
  }
  return line;
}

Dataset WithHash(Dataset dataset) {
  uint64_t hash = static_cast<uint64_t>(dataset.image_size);
  for (const std::string& name : dataset.class_names) hash = Xxh64(name, hash);
  for (const ImageSet& set : dataset.splits) {
    hash = Xxh64(std::as_bytes(set.labels), hash);
    hash = Xxh64(std::as_bytes(set.pixels), hash);
  }
  dataset.hash = hash;
  return dataset;
}

std::span<const std::string_view> Food11ClassNames() {
  static constexpr std::array<std::string_view, 11> kNames = {
      "Bread",         "Dairy product", "Dessert", "Egg",  "Fried food",     "Meat",
      "Noodles/Pasta", "Rice",          "Seafood", "Soup", "Vegetable/Fruit"};
  return kNames;
}

}  // namespace tune::models
