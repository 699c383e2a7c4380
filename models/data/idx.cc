#include "models/data/idx.h"

#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "core/posix/durable_file.h"
#include "models/data/dataset.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kFileBytesMax = 4ull << 30;
constexpr uint32_t kImagesMagic = 0x803;  // Unsigned bytes, three dimensions.
constexpr uint32_t kLabelsMagic = 0x801;  // Unsigned bytes, one dimension.

uint32_t BigEndian(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) << 24 | static_cast<uint32_t>(bytes[at + 1]) << 16 |
         static_cast<uint32_t>(bytes[at + 2]) << 8 | bytes[at + 3];
}

std::span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Each class is a folder in that of its split, where hidden ones are passed over.
Status CheckClassNames(const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const std::string& name : names) {
    const auto refused = [&name](const std::string& why) {
      return InvalidArgument("--names: read '" + name + "', expected the name of a folder: " + why);
    };
    if (name.empty()) return refused("it is empty");
    if (name.front() == '.') return refused("it begins with '.'");
    if (name.find('/') != std::string::npos) return refused("it has a '/'");
    if (!known.insert(name).second) return refused("it is there twice");
  }
  return OkStatus();
}

// contents[class]: the PGM images of one class, one after another.
using ClassContents = std::vector<std::string>;

Status WriteSplit(const fs::path& root, Split split, const std::vector<std::string>& names,
                  const ClassContents& contents) {
  for (size_t label = 0; label < names.size(); ++label) {
    if (contents[label].empty()) {
      return InvalidArgument("class '" + names[label] + "' has no image for " +
                             std::string(SplitName(split)));
    }
    const fs::path folder = root / SplitName(split) / names[label];
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return InvalidArgument("cannot create " + folder.string() + ": " + error.message());
    TUNE_RETURN_IF_ERROR(WriteFileSynced((folder / "images.pgm").string(), contents[label]));
  }
  return OkStatus();
}

// Deals the images of a pair of files out to two sets of classes: each `every`-th to the second.
Status Deal(const std::string& images_path, const std::string& labels_path, int every,
            ClassContents& most, ClassContents& some) {
  TUNE_ASSIGN_OR_RETURN(const std::string image_bytes, ReadFile(images_path, kFileBytesMax));
  TUNE_ASSIGN_OR_RETURN(const std::string label_bytes, ReadFile(labels_path, kFileBytesMax));
  const Result<IdxImages> images = ParseIdxImages(AsBytes(image_bytes));
  if (!images.ok()) return images.status().At(images_path);
  const Result<std::span<const uint8_t>> labels = ParseIdxLabels(AsBytes(label_bytes));
  if (!labels.ok()) return labels.status().At(labels_path);
  if (labels->size() != images->images.size()) {
    return InvalidArgument(labels_path + " has " + std::to_string(labels->size()) + " labels, " +
                           images_path + " " + std::to_string(images->images.size()) + " images");
  }
  const std::string header =
      "P5\n" + std::to_string(images->width) + " " + std::to_string(images->height) + "\n255\n";
  for (size_t i = 0; i < labels->size(); ++i) {
    const size_t label = (*labels)[i];
    if (label >= most.size()) {
      return InvalidArgument(labels_path + ": label " + std::to_string(label) + " of image " +
                             std::to_string(i) + ", but there are " + std::to_string(most.size()) +
                             " class names");
    }
    const bool to_some = every > 0 && i % static_cast<size_t>(every) == 0;
    std::string& to = to_some ? some[label] : most[label];
    to += header;
    to.append(reinterpret_cast<const char*>(images->images[i].data()), images->images[i].size());
  }
  return OkStatus();
}

}  // namespace

Result<IdxImages> ParseIdxImages(std::span<const uint8_t> bytes) {
  if (bytes.size() < 16 || BigEndian(bytes, 0) != kImagesMagic) {
    return InvalidArgument("not an idx file of images");
  }
  const uint64_t count = BigEndian(bytes, 4);
  const uint64_t height = BigEndian(bytes, 8);
  const uint64_t width = BigEndian(bytes, 12);
  if (width == 0 || height == 0 || width > 4096 || height > 4096 ||
      bytes.size() - 16 != count * width * height) {
    return InvalidArgument("the header says " + std::to_string(count) + " images of " +
                           std::to_string(height) + " by " + std::to_string(width) +
                           ", but the file has " + std::to_string(bytes.size()) + " bytes");
  }
  IdxImages images;
  images.width = static_cast<int>(width);
  images.height = static_cast<int>(height);
  for (uint64_t i = 0; i < count; ++i) {
    images.images.push_back(bytes.subspan(16 + i * width * height, width * height));
  }
  return images;
}

Result<std::span<const uint8_t>> ParseIdxLabels(std::span<const uint8_t> bytes) {
  if (bytes.size() < 8 || BigEndian(bytes, 0) != kLabelsMagic) {
    return InvalidArgument("not an idx file of labels");
  }
  if (bytes.size() - 8 != BigEndian(bytes, 4)) {
    return InvalidArgument("the header says " + std::to_string(BigEndian(bytes, 4)) +
                           " labels, but the file has " + std::to_string(bytes.size()) + " bytes");
  }
  return bytes.subspan(8);
}

Status ImportIdx(const IdxImport& import) {
  TUNE_RETURN_IF_ERROR(CheckClassNames(import.class_names));
  std::error_code error;
  if (fs::exists(import.out, error)) {
    return InvalidArgument(import.out + " exists already; remove it or name another folder");
  }
  const size_t classes = import.class_names.size();
  ClassContents training(classes);
  ClassContents validation(classes);
  ClassContents evaluation(classes);
  TUNE_RETURN_IF_ERROR(Deal(import.training_images, import.training_labels, import.validation_every,
                            training, validation));
  TUNE_RETURN_IF_ERROR(
      Deal(import.evaluation_images, import.evaluation_labels, 0, evaluation, evaluation));
  fs::path out = fs::path(import.out).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();  // "mnist/" is beside "mnist.tmp", too.
  const std::string temporary = out.string() + ".tmp";
  fs::remove_all(temporary, error);
  Status written = WriteSplit(temporary, Split::kTraining, import.class_names, training);
  if (written.ok()) {
    written = WriteSplit(temporary, Split::kValidation, import.class_names, validation);
  }
  if (written.ok()) {
    written = WriteSplit(temporary, Split::kEvaluation, import.class_names, evaluation);
  }
  if (written.ok()) written = RenameSynced(temporary, out.string());
  if (!written.ok()) fs::remove_all(temporary, error);
  return written;
}

}  // namespace tune::models
