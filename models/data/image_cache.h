// A data folder as a Dataset, through a cache file: the images are decoded, resized and cropped
// once for each (folder content, image size), by one process while others wait, and then mapped
// read-only and shared by all.
//
// The file is keyed by the list of images with sizes and modification times, is written under
// another name and renamed, and carries checksums; one that is damaged, or whose images were
// decoded by other rules, is made anew. A broken image is skipped and named in Dataset::skipped, as
// is what the folder has beside images (image_folder.h); a class that loses all its images in a
// split is an error, and so is a file that cannot be read.
//
// Thread rule: LoadImages may be called from any thread; it runs `threads` threads while it
// decodes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/data/resize.h"

namespace tune::models {

// One file's bytes to its images (one, except for the PNM formats, where a file may hold several of
// them one after another). Called from several threads at once. decode.h has the real one.
using ImageDecoder = std::function<Result<std::vector<RgbImage>>(std::span<const uint8_t> bytes)>;

struct LoadOptions {
  std::string folder;
  int image_size = 224;
  // Where the cache may lie, best first; the first one that can be written, and has room for it, is
  // used, any that has it is read.
  std::vector<std::string> cache_folders;
  int threads = 1;
  // Null: a folder that is not in a cache yet fails with kFailedPrecondition.
  ImageDecoder decoder;
};

Result<Dataset> LoadImages(const LoadOptions& options);

// <folder>/.tune-cache, then `fallback` unless it is empty (a program passes its user's cache
// folder).
std::vector<std::string> CacheFolders(const std::string& folder, const std::string& fallback);

}  // namespace tune::models
