#include "tuner/artifact_path.h"

#include <filesystem>

namespace tune {

std::string ArtifactsDirOf(const std::string& db_path) {
  std::error_code error;  // A folder that is gone: the path stays relative.
  std::filesystem::path path = std::filesystem::absolute(db_path, error);
  if (error) path = db_path;
  path = path.lexically_normal();
  path.replace_extension();
  return path.string() + ".artifacts";
}

std::optional<std::string> WithinTrialFolder(std::string_view path, std::string_view experiment,
                                             int64_t trial) {
  const std::string folder = "/" + std::string(experiment) + "/" + std::to_string(trial) + "/";
  const size_t begin = path.rfind(folder);
  if (begin == std::string_view::npos || path.find("/..") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = path.substr(begin + folder.size());
  return rest.empty() ? std::nullopt : std::optional<std::string>(rest);
}

std::string TrialFolder(const std::string& artifacts_dir, const std::string& experiment,
                        int64_t trial) {
  return artifacts_dir + "/" + experiment + "/" + std::to_string(trial);
}

std::string PresentPath(const std::string& path, const std::string& artifacts_dir,
                        const std::string& experiment, int64_t trial) {
  const std::optional<std::string> rest = WithinTrialFolder(path, experiment, trial);
  return rest ? TrialFolder(artifacts_dir, experiment, trial) + "/" + *rest : path;
}

}  // namespace tune
