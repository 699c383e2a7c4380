#include "tuner/cli/look/trial_logs.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tune {
namespace {

namespace fs = std::filesystem;

// As AttemptLogName (trial_runner/checkpoint_transfer.h) has it.
std::optional<int64_t> AttemptOf(std::string_view name, int64_t rank) {
  constexpr std::string_view kPrefix = "attempt_";
  const std::string suffix = (rank == 0 ? "" : "_rank_" + std::to_string(rank)) + ".log";
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number ? std::optional(number) : std::nullopt;
}

Status CannotRead(const fs::path& path, const std::error_code& error) {
  return FailedPrecondition(path.string() + ": cannot be read: " + error.message());
}

}  // namespace

Result<std::map<int64_t, fs::path>> FindLogs(const fs::path& folder, int64_t rank) {
  std::map<int64_t, fs::path> logs;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto attempt = AttemptOf(it->path().filename().string(), rank)) {
      logs[*attempt] = it->path();
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) return CannotRead(folder, error);
  return logs;
}

Result<bool> LogTail::Print() {
  using Logs = std::map<int64_t, fs::path>;
  TUNE_ASSIGN_OR_RETURN(const Logs logs, FindLogs(folder_, rank_));
  bool is_news = false;
  for (const auto& [attempt, path] : logs) {
    TUNE_ASSIGN_OR_RETURN(const bool has_more,
                          PrintOne(attempt, path, attempt == logs.begin()->first));
    is_news |= has_more;
  }
  out_.flush();
  return is_news;
}

Result<bool> LogTail::PrintOne(int64_t attempt, const fs::path& path, bool is_first) {
  constexpr size_t kPieceBytes = 1 << 16;
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const std::error_code error(errno, std::generic_category());
  // One that is gone was removed with its trial.
  if (!in && error && error != std::errc::no_such_file_or_directory) {
    return CannotRead(path, error);
  }
  std::streamoff& at = printed_[attempt];
  in.seekg(at);
  char piece[kPieceBytes];
  for (bool is_news = false;; is_news = true) {
    in.read(piece, sizeof piece);
    const std::streamsize count = in.gcount();
    if (count <= 0) return is_news;
    // What comes late of an earlier one has its line, too.
    if (attempt != last_attempt_ && (!is_first || last_attempt_ != 0)) {
      out_ << (last_attempt_ == 0 ? "" : "\n") << "==> attempt " << attempt << " <==\n";
    }
    last_attempt_ = attempt;
    out_.write(piece, count);
    at += count;
  }
}

}  // namespace tune
