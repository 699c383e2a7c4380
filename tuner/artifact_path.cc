#include "tuner/artifact_path.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "trial_runner/s3_address.h"

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
  const bool leads_back = path.find("/../") != std::string_view::npos || path.ends_with("/..");
  if (begin == std::string_view::npos || leads_back) return std::nullopt;
  const std::string_view rest = path.substr(begin + folder.size());
  return rest.empty() ? std::nullopt : std::optional<std::string>(rest);
}

std::optional<int64_t> TrialNumberOf(std::string_view name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = !name.empty() && error == std::errc() &&
                         end == name.data() + name.size() && number >= 0 &&
                         (name.size() == 1 || name[0] != '0');
  return is_number ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> TrialOfCheckpoint(std::string_view path) {
  const size_t end = path.rfind('/');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  const size_t begin = path.rfind('/', end - 1);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view name = path.substr(begin + 1, end - begin - 1);
  int64_t trial = 0;
  const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), trial);
  const bool is_number = error == std::errc() && last == name.data() + name.size();
  return is_number ? std::optional(trial) : std::nullopt;
}

std::string TrialFolder(const std::string& artifacts_dir, const std::string& experiment,
                        int64_t trial) {
  return artifacts_dir + "/" + experiment + "/" + std::to_string(trial);
}

std::string PresentPath(const std::string& path, const std::string& artifacts_dir,
                        const std::string& experiment, int64_t trial) {
  if (IsS3Url(path)) return path;
  const std::optional<std::string> rest = WithinTrialFolder(path, experiment, trial);
  return rest ? TrialFolder(artifacts_dir, experiment, trial) + "/" + *rest : path;
}

}  // namespace tune
