#include "trial_runner/bucket/bucket_checkpoints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/file_descriptor.h"
#include "core/utf8.h"
#include "trial_runner/bucket/side_by_side.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRemovedAtOnce = 8;

std::string Sha256OfText(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Finish();
}

// kDataLoss: there is less than that, or it cannot be read.
Result<std::string> ReadPiece(const std::string& path, int64_t offset, int64_t bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return DataLoss(ErrnoStatus("read", path).message());
  std::string piece(static_cast<size_t>(bytes), '\0');
  size_t have = 0;
  while (have < piece.size()) {
    const ssize_t count = pread(file.get(), piece.data() + have, piece.size() - have,
                                static_cast<off_t>(offset) + static_cast<off_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return DataLoss(ErrnoStatus("read", path).message());
    if (count == 0) return DataLoss(path + " was made shorter while it was read");
    have += static_cast<size_t>(count);
  }
  return piece;
}

struct PartOfFile {
  size_t file = 0;
  int64_t part = 0;
};

// Of a checkpoint that comes down.
Status BringPart(S3Client& client, const std::string& key, const ManifestFile& file, int64_t part,
                 const std::string& path, const std::stop_token& stop) {
  const int64_t begin = part * file.part_bytes;
  const FileDescriptor out(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.is_open()) return ErrnoStatus("write", path);
  for (int tries = 1;; ++tries) {
    std::optional<Sha256> hash;
    int64_t at = begin;
    Status written;
    const S3Client::RangeTaker taker{[&] {
                                       hash.emplace();
                                       at = begin;
                                     },
                                     [&](std::string_view piece) {
                                       hash->Add(piece);
                                       while (!piece.empty()) {
                                         const ssize_t count =
                                             pwrite(out.get(), piece.data(), piece.size(), at);
                                         if (count < 0 && errno == EINTR) continue;
                                         if (count < 0) {
                                           written = ErrnoStatus("write", path);
                                           return false;
                                         }
                                         at += count;
                                         piece.remove_prefix(static_cast<size_t>(count));
                                       }
                                       return true;
                                     }};
    taker.begin();
    const Status got =
        client.GetRange(DataKey(key, file.path), begin, file.BytesOfPart(part), taker, stop);
    TUNE_RETURN_IF_ERROR(written);
    TUNE_RETURN_IF_ERROR(got);
    if (hash->Finish() == file.sha256[static_cast<size_t>(part)]) return OkStatus();
    if (tries == limits::kCheckpointTriesMax) {
      return DataLoss("s3://" + client.bucket() + "/" + DataKey(key, file.path) +
                      " is not what was written there (its SHA-256 differs)");
    }
  }
}

Status BringFiles(S3Client& client, const std::string& key, const CheckpointManifest& manifest,
                  const DurableFolder& folder, const std::stop_token& stop) {
  std::vector<PartOfFile> parts;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    const ManifestFile& file = manifest.files[i];
    const std::string path = folder.PathOf(file.path);
    const FileDescriptor made(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (!made.is_open() || fchmod(made.get(), file.mode | 0600) != 0) {
      return ErrnoStatus("write", path);
    }
    // Room is asked for at once: a full disk is known before all of it has come.
    const bool has_room =
        file.bytes == 0 || posix_fallocate(made.get(), 0, static_cast<off_t>(file.bytes)) != ENOSPC;
    if (!has_room) return ResourceExhausted("cannot write " + path + ": no space left on device");
    for (int64_t part = 0; part < file.part_count(); ++part) parts.push_back({i, part});
  }
  TUNE_RETURN_IF_ERROR(SideBySide(
      parts.size(), limits::kS3PartsAtOnce, stop, [&](size_t index, const std::stop_token& end) {
        const ManifestFile& file = manifest.files[parts[index].file];
        return BringPart(client, key, file, parts[index].part, folder.PathOf(file.path), end);
      }));
  for (const ManifestFile& file : manifest.files) {
    const std::string path = folder.PathOf(file.path);
    const FileDescriptor written(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!written.is_open() || fsync(written.get()) != 0) return ErrnoStatus("sync", path);
  }
  return OkStatus();
}

}  // namespace

CheckpointUpload::CheckpointUpload(std::shared_ptr<S3Client> client, std::string key,
                                   std::string folder)
    : client_(std::move(client)), key_(std::move(key)), folder_(std::move(folder)) {}

Status CheckpointUpload::Look() {
  manifest_ = {};
  const Status looked = LookAt("", 0);
  is_folder_bad_ = !looked.ok();
  TUNE_RETURN_IF_ERROR(looked);
  progress_.assign(manifest_.files.size(), {});
  has_looked_ = true;
  return OkStatus();
}

Status CheckpointUpload::LookAt(const std::string& within, int depth) {
  const std::string here = within.empty() ? folder_ : folder_ + "/" + within;
  if (depth > limits::kPackageDepthMax) return InvalidArgument(here + ": too many folders in it");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(here, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return DataLoss(here + ": cannot be read: " + error.message());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = within.empty() ? name : within + "/" + name;
    const std::string whole = folder_ + "/" + path;
    if (!IsUtf8(path)) return InvalidArgument(ToUtf8(whole) + ": its name is not UTF-8");
    if (DataKey(key_, path).size() > limits::kS3KeyBytesMax) {
      return InvalidArgument(whole + ": its name is too long for an object store (a key has " +
                             std::to_string(limits::kS3KeyBytesMax) + " bytes)");
    }
    if (manifest_.files.size() + manifest_.folders.size() >= limits::kPackageEntriesMax) {
      return InvalidArgument(folder_ + ": has too many files");
    }
    struct stat info;
    if (lstat(whole.c_str(), &info) != 0) return DataLoss(ErrnoStatus("read", whole).message());
    if (S_ISDIR(info.st_mode)) {
      manifest_.folders.push_back(path);
      TUNE_RETURN_IF_ERROR(LookAt(path, depth + 1));
    } else if (S_ISREG(info.st_mode)) {
      const auto bytes = static_cast<int64_t>(info.st_size);
      manifest_.files.push_back(
          {path, bytes, ModeOf(KindOf(false, info.st_mode)), PartBytesOf(bytes),
           std::vector<std::string>(static_cast<size_t>(PartCountOf(bytes)))});
    } else {
      return InvalidArgument(whole + ": is neither file nor folder");
    }
  }
  return OkStatus();
}

Result<std::string> CheckpointUpload::Run(const std::stop_token& stop) {
  if (!has_looked_) TUNE_RETURN_IF_ERROR(Look());
  std::vector<PartOfFile> parts;
  for (size_t i = 0; i < manifest_.files.size(); ++i) {
    Progress& progress = progress_[i];
    if (progress.is_there) continue;
    const int64_t count = manifest_.files[i].part_count();
    if (count > 1 && progress.upload.empty()) {
      TUNE_ASSIGN_OR_RETURN(progress.upload,
                            client_->BeginUpload(DataKey(key_, manifest_.files[i].path), stop));
    }
    for (int64_t part = 0; part < count; ++part) {
      if (!progress.parts.contains(part)) parts.push_back({i, part});
    }
  }
  TUNE_RETURN_IF_ERROR(SideBySide(parts.size(), limits::kS3PartsAtOnce, stop,
                                  [&](size_t index, const std::stop_token& end) {
                                    return Send(parts[index].file, parts[index].part, end);
                                  }));
  for (size_t i = 0; i < manifest_.files.size(); ++i) TUNE_RETURN_IF_ERROR(Finish(i, stop));
  const std::string text = EncodeManifest(manifest_);
  if (text.size() > limits::kS3AnswerBytesMax) {
    is_folder_bad_ = true;
    return InvalidArgument(folder_ + ": has too many files");
  }
  std::string sha256 = Sha256OfText(text);
  TUNE_RETURN_IF_ERROR(client_->Put(ManifestKey(key_), text, {sha256}, stop));
  return sha256;
}

Status CheckpointUpload::Send(size_t index, int64_t part, const std::stop_token& stop) {
  ManifestFile& file = manifest_.files[index];
  Progress& progress = progress_[index];
  Result<std::string> piece =
      ReadPiece(folder_ + "/" + file.path, part * file.part_bytes, file.BytesOfPart(part));
  if (!piece.ok()) {
    const std::lock_guard lock(mutex_);
    is_folder_bad_ = true;
    return piece.status();
  }
  std::string& sha256 = file.sha256[static_cast<size_t>(part)];
  sha256 = Sha256OfText(*piece);
  const std::string key = DataKey(key_, file.path);
  if (progress.upload.empty()) {
    TUNE_RETURN_IF_ERROR(client_->Put(key, *piece, {sha256}, stop));
    progress.is_there = true;
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(S3Part sent,
                        client_->PutPart(key, progress.upload, part + 1, *piece, sha256, stop));
  const std::lock_guard lock(mutex_);
  progress.parts[part] = std::move(sent);
  return OkStatus();
}

Status CheckpointUpload::Finish(size_t index, const std::stop_token& stop) {
  Progress& progress = progress_[index];
  if (progress.is_there) return OkStatus();
  std::vector<S3Part> parts;
  for (auto& [part, sent] : progress.parts) parts.push_back(sent);
  const std::string key = DataKey(key_, manifest_.files[index].path);
  const Status done = client_->CompleteUpload(key, progress.upload, parts, stop);
  if (done.code() == StatusCode::kNotFound) {
    // Finished by a try whose answer was lost; or the store has forgotten it.
    TUNE_ASSIGN_OR_RETURN(const std::optional<int64_t> bytes, client_->Head(key, stop));
    if (bytes != manifest_.files[index].bytes) {
      progress = {};  // All of it again.
      return Unavailable(done.message());
    }
  } else if (!done.ok()) {
    return done;
  }
  progress.is_there = true;
  return OkStatus();
}

void CheckpointUpload::Abort(const std::stop_token& stop) {
  for (size_t i = 0; i < progress_.size(); ++i) {
    if (progress_[i].is_there || progress_[i].upload.empty()) continue;
    (void)client_->AbortUpload(DataKey(key_, manifest_.files[i].path), progress_[i].upload, stop)
        .ok();
  }
}

bool IsFolderOf(const CheckpointManifest& manifest, const std::string& folder) {
  for (const ManifestFile& file : manifest.files) {
    const std::string path = folder + "/" + file.path;
    struct stat info;
    const bool is_alike = lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
                          static_cast<int64_t>(info.st_size) == file.bytes;
    if (!is_alike) return false;
    for (int64_t part = 0; part < file.part_count(); ++part) {
      const Result<std::string> piece =
          ReadPiece(path, part * file.part_bytes, file.BytesOfPart(part));
      if (!piece.ok() || Sha256OfText(*piece) != file.sha256[static_cast<size_t>(part)]) {
        return false;
      }
    }
  }
  std::error_code error;
  return std::all_of(
             manifest.folders.begin(), manifest.folders.end(),
             [&](const std::string& one) { return fs::is_directory(folder + "/" + one, error); }) &&
         fs::is_directory(folder, error);
}

Result<BroughtCheckpoint> BringCheckpoint(S3Client& client, const BringOrder& order,
                                          const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::string text, client.Get(ManifestKey(order.key), stop));
  const Result<CheckpointManifest> manifest = ParseManifest(text);
  if (!manifest.ok()) {
    return manifest.status().At("s3://" + client.bucket() + "/" + ManifestKey(order.key));
  }
  const std::string sha256 = Sha256OfText(text);
  if (!order.copy.empty() && IsFolderOf(*manifest, order.copy)) {
    return BroughtCheckpoint{order.copy, sha256};
  }
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(order.parent, order.name));
  for (const std::string& one : manifest->folders) TUNE_RETURN_IF_ERROR(folder.MakeFolder(one));
  TUNE_RETURN_IF_ERROR(BringFiles(client, order.key, *manifest, folder, stop));
  TUNE_ASSIGN_OR_RETURN(std::string made, folder.Commit());
  return BroughtCheckpoint{std::move(made), sha256};
}

Status RemoveCheckpoint(S3Client& client, const std::string& key, const std::stop_token& stop) {
  TUNE_RETURN_IF_ERROR(client.Delete(ManifestKey(key), stop));
  return RemoveAllBelow(client, key + "/", stop);
}

Status RemoveAllBelow(S3Client& client, const std::string& prefix, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Upload> uploads, client.ListUploads(prefix, stop));
  for (const S3Upload& upload : uploads) {
    TUNE_RETURN_IF_ERROR(client.AbortUpload(upload.key, upload.id, stop));
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Object> objects, client.List(prefix, stop));
  return SideBySide(objects.size(), kRemovedAtOnce, stop,
                    [&](size_t index, const std::stop_token& end) {
                      return client.Delete(objects[index].key, end);
                    });
}

}  // namespace tune
