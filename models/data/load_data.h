// The `data` option as a Dataset: "synthetic", or a folder through its cache.
#pragma once

#include <string>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/data/image_cache.h"

namespace tune::models {

// `data` empty: an error that says how to name a folder. `fallback_cache`: where a cache goes when
// the data folder cannot be written (a program passes its user's cache folder; may be empty).
// `decoder` as in LoadOptions.
Result<Dataset> LoadData(const std::string& data, int image_size, const std::string& fallback_cache,
                         int threads, ImageDecoder decoder);

}  // namespace tune::models
