#include "trial_runner/command/metric_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/json.h"
#include "core/posix/durable_file.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMetricFileBytesMax = 64u << 20;

FileState StateOf(const struct stat& info) {
  return {info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

// A file that waits for a writer has no end, and one that the attempt has not written is another's.
Status CheckMetricFile(const std::string& path, const std::optional<FileState>& before) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return OkStatus();  // Told when it is read.
  if (!S_ISREG(info.st_mode)) return InvalidArgument("it is no file with an end");
  if (before != StateOf(info)) return OkStatus();
  return InvalidArgument(
      "it was there before this attempt began, which has not written it; a file for each trial is "
      "{tune.dir}/" +
      fs::path(path).filename().string());
}

}  // namespace

std::vector<std::optional<FileState>> StatesOf(const std::vector<std::string>& files,
                                               const std::string& folder) {
  std::vector<std::optional<FileState>> states;
  for (const std::string& file : files) {
    struct stat info;
    const bool is_there = stat((fs::path(folder) / file).c_str(), &info) == 0;
    states.push_back(is_there ? std::optional(StateOf(info)) : std::nullopt);
  }
  return states;
}

Result<Metrics> ReadFileMetrics(const CommandSpec& spec, const std::vector<std::string>& files,
                                const std::string& folder,
                                const std::vector<std::optional<FileState>>& before) {
  Metrics metrics;
  for (size_t i = 0; i < files.size(); ++i) {
    const FileMetric& wanted = spec.file_metrics()[i];
    const std::string path = (fs::path(folder) / files[i]).string();
    const std::string label = wanted.metric + ": " + files[i];
    TUNE_RETURN_IF_ERROR(CheckMetricFile(path, before[i]).At(label));
    const Result<std::string> text = ReadFile(path, kMetricFileBytesMax);
    if (!text.ok()) return text.status().At(label);
    const Result<Value> document = ParseJson(*text, JsonDialect::kWithNaN);
    if (!document.ok()) return document.status().At(label);
    const Result<double> number = NumberUnder(*document, wanted.key);
    if (!number.ok()) return number.status().At(label);
    metrics.emplace_back(wanted.metric, *number);
  }
  return metrics;
}

}  // namespace tune
