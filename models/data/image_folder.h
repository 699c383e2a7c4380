// Finds the images of a data folder:
//
//   <folder>/training/  validation/  evaluation/      each with either
//     <class>_<id>.jpg            the raw Food-11 form, the class a number from 0, or
//     <class name>/<name>.jpg     one folder a class.
//
// Images are .jpg .jpeg .jpe .jfif .png .bmp .dib .webp .gif .tif .tiff .jp2 .ppm .pgm .pbm .pnm.
// Other files, links to nothing and files in folders below those of the classes are left out and
// named. Hidden files are passed over.
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
  std::vector<SkippedImage> left_out;            // In the order of the splits and of paths.

  // Of the images' names, sizes and modification times: changes when they do.
  uint64_t ListHash() const;
};

// Errors are the user's and say which folder lacks what. kNotFound: there is no such folder, or it
// is empty, as the mount point of an absent disk is; else kInvalidArgument.
Result<ImageFolder> FindImages(const std::string& folder);

}  // namespace tune::models
