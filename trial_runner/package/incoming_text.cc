#include "trial_runner/package/incoming_text.h"

#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>
#include <vector>

#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/unpack.h"

namespace tune {
namespace {

constexpr size_t kReadAtOnce = 1u << 20;

}  // namespace

Result<IncomingText> IncomingText::Begin(PackageName name, FileDescriptor file, std::string path) {
  IncomingText text(std::move(name), std::move(file), std::move(path));
  std::string buffer(kReadAtOnce, '\0');
  if (lseek(text.file_.get(), 0, SEEK_SET) != 0) return ErrnoStatus("read", text.path_);
  while (true) {
    const ssize_t count = read(text.file_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus("read", text.path_);
    if (count == 0) break;
    text.hash_.Add({buffer.data(), static_cast<size_t>(count)});
    text.offset_ += count;
  }
  if (text.offset_ > text.name_.bytes) return DataLoss("more is here than was named");
  return text;
}

Status IncomingText::Append(std::string_view piece) {
  if (static_cast<int64_t>(piece.size()) > name_.bytes - offset_) {
    return DataLoss("more came than was named");
  }
  TUNE_RETURN_IF_ERROR(
      WriteAll(file_.get(), std::as_bytes(std::span(piece.data(), piece.size())), path_));
  hash_.Add(piece);
  offset_ += static_cast<int64_t>(piece.size());
  return OkStatus();
}

Result<std::string> IncomingText::Unpack(const std::string& parent, const std::string& name) {
  if (offset_ < name_.bytes) {
    return DataLoss("it ended after " + std::to_string(offset_) + " of " +
                    std::to_string(name_.bytes) + " bytes");
  }
  if (hash_.Finish() != name_.sha256) return DataLoss("what came has another SHA-256");
  TUNE_ASSIGN_OR_RETURN(const MappedFile text, MappedFile::Of(file_.get(), path_));
  TUNE_ASSIGN_OR_RETURN(const std::vector<PackageEntry> entries, ParsePackage(text.text()));
  for (const PackageEntry& entry : entries) {
    if (entry.kind == PackageKind::kLink) {
      return DataLoss(std::string(entry.path) + " is a link, and none is taken");
    }
  }
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(parent, name));
  TUNE_RETURN_IF_ERROR(MakeEntriesSynced(entries, folder.PathOf(".")));
  return folder.Commit();
}

}  // namespace tune
