#include "trial_runner/working_folder.h"

#include <filesystem>

namespace tune {

std::string WorkingFolder(const Value& trainable, const std::string& base_dir) {
  if (!trainable.is_map() || trainable.Find("command") == nullptr) return "";
  const Value* const named = trainable.Find("working_dir");
  const std::string below = named != nullptr && named->is_string() ? named->AsString() : "";
  std::string folder = (std::filesystem::path(base_dir) / below).lexically_normal().string();
  if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

}  // namespace tune
