#include "models/data/dataset.h"

#include "core/hash.h"

namespace tune::models {

std::string_view SplitName(Split split) {
  static constexpr std::array<std::string_view, 3> kNames = {"training", "validation",
                                                             "evaluation"};
  return kNames[static_cast<size_t>(split)];
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
