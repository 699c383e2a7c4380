// Finds the images of a data folder:
//
//   <folder>/training/  validation/  evaluation/      each with either
//     <class>_<id>.jpg            the raw Food-11 form, the class a number from 0, or
//     <class name>/<name>.jpg     one folder a class.
//
// Images are .jpg .jpeg .png .bmp .webp .ppm .pgm; other files and hidden ones are left alone.
// Eleven classes that have numbers only (raw form, or folders class_00 .. class_10) get Food-11's
// names.
//
// Thread rule: pure but for reading the folder.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"

namespace tune::models {

struct ImageFile {
  std::string path;  // Relative to the data folder.
  int32_t label = 0;
  uint64_t bytes = 0;
  int64_t modified_ns = 0;
};

struct ImageFolder {
  std::string folder;
  std::vector<std::string> class_names;
  std::array<std::vector<ImageFile>, 3> splits;  // Sorted by path.

  // Of names, sizes and modification times: changes when the folder does.
  uint64_t ListHash() const;
};

// Errors are the user's (kInvalidArgument) and say which folder lacks what.
Result<ImageFolder> FindImages(const std::string& folder);

}  // namespace tune::models
