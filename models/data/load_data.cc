#include "models/data/load_data.h"

#include <utility>

#include "models/data/synthetic.h"

namespace tune::models {

Result<Dataset> LoadData(const std::string& data, int image_size, const std::string& fallback_cache,
                         int threads, ImageDecoder decoder) {
  if (data.empty()) {
    return InvalidArgument(
        "data: no folder given; name one with the parameter 'data' or FOOD11_DATA_DIR, or use "
        "'data: synthetic'");
  }
  if (data == "synthetic") {
    SyntheticOptions synthetic;
    synthetic.image_size = image_size;
    return MakeSynthetic(synthetic);
  }
  LoadOptions options;
  options.folder = data;
  options.image_size = image_size;
  options.cache_folders = CacheFolders(data, fallback_cache);
  options.threads = threads;
  options.decoder = std::move(decoder);
  return LoadImages(options);
}

}  // namespace tune::models
