// The idx format of the MNIST family (yann.lecun.com/exdb/mnist): greyscale images and their
// labels, each in one file, turned into a data folder that image_folder.h finds: one folder a class
// with all its images in one PGM file.
//
// Thread rule: stateless.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"

namespace tune::models {

struct IdxImages {
  int width = 0;
  int height = 0;
  std::vector<std::span<const uint8_t>> images;  // Into the bytes given; each (height, width).
};

// kInvalidArgument says what is wrong: magic number, dimensions, length.
Result<IdxImages> ParseIdxImages(std::span<const uint8_t> bytes);
Result<std::span<const uint8_t>> ParseIdxLabels(std::span<const uint8_t> bytes);

struct IdxImport {
  std::string training_images;  // Uncompressed idx files.
  std::string training_labels;
  std::string evaluation_images;
  std::string evaluation_labels;
  std::vector<std::string> class_names;  // Distinct; each can be a folder that is not hidden.
  int validation_every = 10;             // Each n-th training image goes to validation.
  std::string out;                       // Must not exist; appears whole or not at all.
};

// kInvalidArgument: names, files that are wrong, or a folder that is there.
Status ImportIdx(const IdxImport& import);

}  // namespace tune::models
