#include "trial_runner/package/artifact_depot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/remove_tree.h"
#include "trial_runner/package/folder_text.h"
#include "trial_runner/package/incoming_text.h"
#include "trial_runner/package/trial_files.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNamePrefix = "checkpoint_";
constexpr size_t kNameBytesMax = 100;
constexpr std::chrono::minutes kPartPatience(10);
constexpr std::chrono::hours kHour(1);

// One part of a path, as trials name what they save (worker/checkpoint_place.h); what ends as a
// folder does that is not whole yet would be taken for one.
bool IsCheckpointName(std::string_view name) {
  const std::string_view rest = name.substr(std::min(name.size(), kNamePrefix.size()));
  return name.starts_with(kNamePrefix) && name.size() <= kNameBytesMax && !rest.empty() &&
         rest.find_first_not_of("0123456789.-") == std::string_view::npos;
}

// One that came before, and nobody heard of it.
std::optional<std::string> FindWhole(const std::string& path, const PackageName& text) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) return std::nullopt;
  const Result<FolderText> there = FolderText::Of(path);
  if (!there.ok() || there->name() != text) return std::nullopt;
  return path;
}

class CameBefore final : public IncomingCheckpoint {
 public:
  CameBefore(std::string path, int64_t bytes) : path_(std::move(path)), bytes_(bytes) {}
  int64_t offset() const override { return bytes_; }
  Status Append(std::string_view) override { return DataLoss("more came than was named"); }
  // Who brought it before may have been killed between the name and its sync.
  Result<std::string> Commit() override {
    TUNE_RETURN_IF_ERROR(SyncFolder(fs::path(path_).parent_path().string()));
    return path_;
  }

 private:
  const std::string path_;
  const int64_t bytes_;
};

}  // namespace

// Keeps what has come when it is given up.
class ArtifactDepot::Incoming final : public IncomingCheckpoint {
 public:
  Incoming(std::shared_ptr<ArtifactDepot> depot, std::string part, std::string folder,
           std::string name)
      : depot_(std::move(depot)),
        part_(std::move(part)),
        folder_(std::move(folder)),
        name_(std::move(name)) {}
  ~Incoming() override {
    if (is_for_nothing_) unlink(part_.c_str());
    depot_->End(part_);
  }

  Status Begin(const PackageName& text) {
    FileDescriptor file(open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) return ErrnoStatus("create", part_);
    Result<IncomingText> begun = IncomingText::Begin(text, std::move(file), part_);
    if (!begun.ok()) return Judged(begun.status());
    text_.emplace(*std::move(begun));
    return OkStatus();
  }

  int64_t offset() const override { return text_->offset(); }
  Status Append(std::string_view piece) override {
    depot_->Count(static_cast<int64_t>(piece.size()));
    return Judged(text_->Append(piece));
  }
  Result<std::string> Commit() override {
    Result<std::string> path = Unpack();
    is_for_nothing_ = is_for_nothing_ || path.ok();
    if (!path.ok()) return Judged(path.status());
    return path;
  }

 private:
  Result<std::string> Unpack() {
    if (name_ != kTrialFiles) return text_->Unpack(folder_, name_);
    TUNE_ASSIGN_OR_RETURN(const std::string came,
                          text_->Unpack(folder_, std::string(kTrialFilesIncoming)));
    const Status moved = MoveTrialFiles(came, folder_);
    if (moved.ok()) return folder_;
    std::error_code ignored;
    RemoveTree(came, ignored);
    return moved;
  }
  // What is wrong is not gone on from, and what finds no room shall leave some.
  Status Judged(Status status) {
    is_for_nothing_ = is_for_nothing_ || status.code() == StatusCode::kDataLoss ||
                      status.code() == StatusCode::kResourceExhausted;
    return status;
  }

  const std::shared_ptr<ArtifactDepot> depot_;
  const std::string part_;
  const std::string folder_;
  const std::string name_;
  std::optional<IncomingText> text_;
  bool is_for_nothing_ = false;
};

Result<std::shared_ptr<ArtifactDepot>> ArtifactDepot::Make(const Options& options) {
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(options.root));
  return std::shared_ptr<ArtifactDepot>(new ArtifactDepot(options));
}

ArtifactDepot::~ArtifactDepot() {
  std::error_code ignored;
  fs::remove_all(IncomingFolder(), ignored);
}

bool ArtifactDepot::Sees(const SeeNonce& see) {
  const std::string& folder = see.is_of_programs ? options_.programs : options_.root;
  if (folder.empty()) return false;
  const Result<std::string> text = ReadFile(folder + "/" + NonceFile(see.nonce), kNonceBytes);
  return text.ok() && *text == see.nonce;
}

// One worker at a time holds the lease. It may send the same once more on a new connection while a
// slow disk still takes what came on the old one: then it is to come again.
Result<int64_t> ArtifactDepot::TakeLog(const PutLog& put) {
  const std::string folder = FolderOf(put.ref);
  const std::string path = folder + "/" + AttemptLogName(put.ref.attempt, put.rank);
  {
    const std::lock_guard lock(mutex_);
    if (!coming_.insert(path).second) return Unavailable("it comes in already");
  }
  const Status made = MakeFolderSynced(folder);  // Its checkpoints will take it for durable.
  const Result<int64_t> have = made.ok() ? AppendToLog(path, put) : Result<int64_t>(made);
  End(path);
  return have;
}

// What a disk does not take is left out, as on the worker's.
Result<int64_t> ArtifactDepot::AppendToLog(const std::string& path, const PutLog& put) {
  const FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.is_open()) return ErrnoStatus("open", path);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus("look at", path);
  const int64_t have = info.st_size;
  const int64_t known = have - put.offset;
  if (known < 0 || known >= static_cast<int64_t>(put.text.size())) return have;
  const std::string_view rest = std::string_view(put.text).substr(static_cast<size_t>(known));
  if (have + static_cast<int64_t>(rest.size()) > 2 * limits::kAttemptLogBytesMax) {
    return InvalidArgument("a log has " + std::to_string(limits::kAttemptLogBytesMax) +
                           " bytes at most");
  }
  TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(rest)), path));
  return have + static_cast<int64_t>(rest.size());
}

// It lies there as text and as folder for a moment.
Status ArtifactDepot::CheckRoom(int64_t bytes) const {
  struct statvfs disk = {};
  if (statvfs(options_.root.c_str(), &disk) != 0) return ErrnoStatus("look at", options_.root);
  const uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (static_cast<uint64_t>(bytes) <= free_bytes / 2) return OkStatus();
  return ResourceExhausted("what has " + std::to_string(bytes) +
                           " bytes needs twice as many while it comes in, and " +
                           std::to_string(free_bytes) + " are free");
}

// Of a tuner that was killed in the midst of it.
void ArtifactDepot::RemoveUnmoved(const std::string& folder) {
  std::vector<fs::path> unmoved;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kTrialFilesIncoming)) unmoved.push_back(*it);
  }
  for (const fs::path& path : unmoved) RemoveTree(path, error);
}

// Of workers that did not come back.
void ArtifactDepot::RemoveStaleParts() {
  const std::lock_guard lock(mutex_);
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> stale;
  std::error_code error;
  for (fs::directory_iterator it(IncomingFolder(), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    const auto age = now - it->last_write_time(ignored);
    if (!ignored && age > kPartPatience && !coming_.contains(it->path().string())) {
      stale.push_back(it->path());
    }
  }
  for (const fs::path& path : stale) fs::remove(path, error);
}

Status ArtifactDepot::CheckTaken(const PutCheckpoint& put) const {
  const bool is_of_files = put.name == kTrialFiles;
  if (!is_of_files && !IsCheckpointName(put.name)) {
    return InvalidArgument("a checkpoint is called checkpoint_ and a number, and not '" + put.name +
                           "'");
  }
  if (put.text.bytes > options_.bytes_max) {
    return InvalidArgument((is_of_files ? "files of " : "a checkpoint of ") +
                           std::to_string(put.text.bytes) + " bytes" +
                           (is_of_files ? " are" : " is") + " larger than the tuner takes, " +
                           std::to_string(options_.bytes_max) + " (tune run --checkpoint-max)");
  }
  return OkStatus();
}

Result<std::unique_ptr<IncomingCheckpoint>> ArtifactDepot::Receive(const PutCheckpoint& put) {
  TUNE_RETURN_IF_ERROR(CheckTaken(put));
  const std::string folder = FolderOf(put.ref);
  if (put.name == kTrialFiles) {
    RemoveUnmoved(folder);
  } else if (std::optional<std::string> path = FindWhole(folder + "/" + put.name, put.text)) {
    return std::unique_ptr<IncomingCheckpoint>(
        std::make_unique<CameBefore>(*std::move(path), put.text.bytes));
  }
  RemoveStaleParts();
  TUNE_RETURN_IF_ERROR(CheckRoom(put.text.bytes));
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(IncomingFolder()));
  std::string part =
      IncomingFolder() + "/" + put.text.sha256 + "-" + std::to_string(put.text.bytes);
  {
    const std::lock_guard lock(mutex_);
    if (!coming_.insert(part).second) return Unavailable("it comes in already");
  }
  auto incoming = std::make_unique<Incoming>(shared_from_this(), std::move(part), folder, put.name);
  TUNE_RETURN_IF_ERROR(incoming->Begin(put.text));
  return std::unique_ptr<IncomingCheckpoint>(std::move(incoming));
}

void ArtifactDepot::Count(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  came_.erase(came_.begin(), came_.upper_bound(now - kHour));
  if (came_.empty() || now - came_.rbegin()->first > std::chrono::minutes(1)) came_[now] = 0;
  came_.rbegin()->second += bytes;
}

int64_t ArtifactDepot::BytesOfLastHour() {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  const auto since = std::chrono::steady_clock::now() - kHour;
  for (auto it = came_.upper_bound(since); it != came_.end(); ++it) sum += it->second;
  return sum;
}

void ArtifactDepot::End(const std::string& path) {
  const std::lock_guard lock(mutex_);
  coming_.erase(path);
}

Result<std::unique_ptr<PackageSource>> ArtifactDepot::Open(const GetCheckpoint& get) {
  const std::string& path = get.path;
  if (path == FolderOf(get.ref)) return OpenFiles(path);
  const fs::path within = fs::path(path).lexically_relative(options_.root);
  const bool is_ours = fs::path(path).lexically_normal().string() == path &&
                       std::distance(within.begin(), within.end()) == 2 &&
                       *within.begin() != ".." && IsCheckpointName(within.filename().string());
  if (!is_ours) return InvalidArgument("no checkpoint of this sweep: " + path);
  TUNE_ASSIGN_OR_RETURN(FolderText text, FolderText::Of(path));
  return std::unique_ptr<PackageSource>(std::make_unique<FolderText>(std::move(text)));
}

Result<std::unique_ptr<PackageSource>> ArtifactDepot::OpenFiles(const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(FolderText text, TextOfTrialFiles(folder));
  if (text.is_empty()) return NotFound("there is no file in " + folder);
  return std::unique_ptr<PackageSource>(std::make_unique<FolderText>(std::move(text)));
}

}  // namespace tune
