// Images ready for training: 8-bit RGB squares of one size with labels, in three splits. Where the
// bytes lie (a shared read-only map of a cache file, or memory) is the owner's business; a Dataset
// keeps them alive.
//
// Thread rule: immutable; shared by any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tune::models {

enum class Split { kTraining, kValidation, kEvaluation };
inline constexpr std::array<Split, 3> kSplits = {Split::kTraining, Split::kValidation,
                                                 Split::kEvaluation};
// "training", "validation", "evaluation": the folder names.
std::string_view SplitName(Split split);

struct ImageSet {
  std::span<const uint8_t> pixels;  // (count, image_size, image_size, 3), RGB.
  std::span<const int32_t> labels;  // (count), 0 .. class_count-1.

  int64_t count() const { return static_cast<int64_t>(labels.size()); }
};

// A file of a data folder that is not trained on.
struct SkippedImage {
  std::string path;    // Relative to the data folder.
  std::string reason;  // "truncated JPEG", "in a nested folder".
};

// One line: how many files are left out, and for each reason the names of the first `names_max`:
// "5 files are left out: a.heic, b.heic and 2 more (not the extension of an image); c.jpg
// (truncated JPEG)". Empty if there is none.
std::string DescribeSkipped(std::span<const SkippedImage> skipped, size_t names_max);

struct Dataset {
  std::vector<std::string> class_names;
  int image_size = 0;
  std::array<ImageSet, 3> splits;
  std::vector<SkippedImage> skipped;  // First those that were not even tried.
  uint64_t hash = 0;  // Of labels, pixels and class names: the provenance of what was trained on.
  // The hash of checkpoints of earlier versions, which covers `skipped`, too; 0: none.
  uint64_t hash_with_skipped = 0;
  uint64_t folder_hash = 0;  // ImageFolder::ListHash of the folder it is from; 0: of none.
  std::shared_ptr<const void> storage;

  int class_count() const { return static_cast<int>(class_names.size()); }
  const ImageSet& split(Split which) const { return splits[static_cast<size_t>(which)]; }
  std::span<const uint8_t> image(Split which, int64_t index) const {
    const size_t bytes = static_cast<size_t>(image_size) * image_size * 3;
    return split(which).pixels.subspan(static_cast<size_t>(index) * bytes, bytes);
  }
};

// Sets `hash` and returns the dataset.
Dataset WithHash(Dataset dataset);

// The eleven classes of Food-11 in its own order.
std::span<const std::string_view> Food11ClassNames();

}  // namespace tune::models
