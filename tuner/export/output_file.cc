#include "tuner/export/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <system_error>

#include "core/posix/durable_file.h"

namespace tune {
namespace {

constexpr size_t kPieceBytes = 256u << 10;

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  FileDescriptor file(open(path.c_str(), flags, 0666));
  if (!file.is_open()) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    file = FileDescriptor(open(path.c_str(), flags, 0666));
  }
  if (!file.is_open()) return ErrnoStatus("make", path);
  return OutputFile(path, std::move(file));
}

Status OutputFile::Append(std::string_view text) {
  pending_ += text;
  return pending_.size() < kPieceBytes ? OkStatus() : Flush();
}

Status OutputFile::Flush() {
  TUNE_RETURN_IF_ERROR(WriteAll(file_.get(), std::as_bytes(std::span(pending_)), path_));
  pending_.clear();
  return OkStatus();
}

Status OutputFile::Close() {
  TUNE_RETURN_IF_ERROR(Flush());
  if (close(file_.Release()) != 0) return ErrnoStatus("write", path_);
  return OkStatus();
}

Status WriteOutputFile(const std::string& path, std::string_view text) {
  TUNE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  TUNE_RETURN_IF_ERROR(file.Append(text));
  return file.Close();
}

}  // namespace tune
