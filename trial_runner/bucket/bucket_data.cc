#include "trial_runner/bucket/bucket_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/disk_room.h"
#include "core/posix/durable_file.h"
#include "core/posix/folder_lock.h"
#include "core/posix/kept_folders.h"
#include "core/posix/plain_file.h"
#include "core/posix/private_folder.h"
#include "core/posix/read_bytes.h"
#include "core/posix/threads.h"
#include "core/utf8.h"
#include "trial_runner/bucket/etag.h"
#include "trial_runner/bucket/s3_signature.h"
#include "trial_runner/bucket/side_by_side.h"
#include "trial_runner/package/sha256.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kObjectsAtOnce = 24;
constexpr std::string_view kDirectoryBucketEnd = "--x-s3";
constexpr int kListingsMax = 5;  // Of one that changes while it is fetched.
constexpr Duration kTurnPause = Milliseconds(200);
constexpr size_t kJournalPause = 256;  // Lines between two flushes.
constexpr size_t kContentDigits = 16;  // As many as those of folders have.

std::string UrlOf(const S3Client& client, const std::string& key) {
  return S3Address{client.bucket(), key}.ToUrl();
}

// Whether each part of the path can be a file's name, and leads nowhere else.
bool IsFilePath(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

// Each can be a file, and none a folder of others besides.
Status CheckPaths(const S3Client& client, const std::string& key, const DataListing& listing) {
  std::set<std::string_view> files;
  for (const DataListing::Object& entry : listing.objects) {
    if (!IsFilePath(entry.path)) {
      return FailedPrecondition(UrlOf(client, key) + ": the object '" + ToUtf8(entry.object.key) +
                                "' cannot be a file here: its name has an empty part, '.', '..' or "
                                "one of more than 255 bytes");
    }
    files.insert(entry.path);
  }
  for (const DataListing::Object& entry : listing.objects) {
    const std::string_view path = entry.path;
    for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
      if (!files.contains(path.substr(0, slash))) continue;
      return FailedPrecondition(UrlOf(client, key) + ": '" + ToUtf8(path.substr(0, slash)) +
                                "' is an object, and others lie below it: it cannot be file and "
                                "folder at once");
    }
  }
  return OkStatus();
}

bool IsWhole(const std::string& folder, const DataListing& listing) {
  return std::all_of(listing.objects.begin(), listing.objects.end(), [&](const auto& entry) {
    struct stat info = {};
    return lstat((folder + "/" + entry.path).c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           info.st_size == entry.object.bytes;
  });
}

std::string BootId() { return ReadBytes("/proc/sys/kernel/random/boot_id"); }

// What this machine's disk refuses is no matter of the store.
Status OfDisk(const Status& status) {
  const bool is_clear = status.ok() || status.code() == StatusCode::kResourceExhausted ||
                        status.code() == StatusCode::kFailedPrecondition;
  return is_clear ? status : Internal(status.message());
}

// A folder that is on its way, in which nobody else fetches.
class PartFolder {
 public:
  // What another process left there of the same machine's life counts.
  static Result<PartFolder> Begin(const std::string& path, FileDescriptor lock) {
    PartFolder folder(path, std::move(lock));
    TUNE_RETURN_IF_ERROR(folder.Open());
    return folder;
  }

  std::string Tree() const { return path_ + "/tree"; }
  std::string PathOf(const std::string& file) const { return Tree() + "/" + file; }
  std::string Incoming(size_t index) const { return path_ + "/incoming/" + std::to_string(index); }
  bool Has(const DataListing::Object& entry) const {
    const auto found = there_.find(entry.path);
    return found != there_.end() && found->second == MarkOf(entry);
  }

  // What is there of objects that are not listed any more, or are others.
  Status RemoveOthers(const DataListing& listing) {
    std::map<std::string, std::string> wanted;
    for (const DataListing::Object& entry : listing.objects) {
      wanted.emplace(entry.path, MarkOf(entry));
    }
    for (auto it = there_.begin(); it != there_.end();) {
      const auto found = wanted.find(it->first);
      if (found != wanted.end() && found->second == it->second) {
        ++it;
        continue;
      }
      std::error_code error;
      fs::remove(PathOf(it->first), error);
      // A folder that had nothing else may be in a file's place.
      for (fs::path up = fs::path(PathOf(it->first)).parent_path();
           !error && up != Tree() && fs::is_empty(up, error) && !error; up = up.parent_path()) {
        fs::remove(up, error);
      }
      it = there_.erase(it);
    }
    for (const DataListing::Object& entry : listing.objects) {
      TUNE_RETURN_IF_ERROR(MakeFolder(fs::path(PathOf(entry.path)).parent_path()));
    }
    return OkStatus();
  }

  // The file has come.
  Status Take(const DataListing::Object& entry, size_t index) {
    const std::string from = Incoming(index);
    const std::string to = PathOf(entry.path);
    if (rename(from.c_str(), to.c_str()) != 0) return ErrnoStatus("write", to);
    const std::lock_guard lock(*mutex_);
    there_[entry.path] = MarkOf(entry);
    journal_ << MarkOf(entry) << ' ' << entry.path << '\0';
    if (++lines_ % kJournalPause == 0) journal_.flush();
    return OkStatus();
  }

  // It becomes `to`, durably.
  Status Commit(const std::string& to) {
    journal_.close();
    const FileDescriptor tree(open(Tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!tree.is_open() || syncfs(tree.get()) != 0) return ErrnoStatus("sync", Tree());
    TUNE_RETURN_IF_ERROR(RenameSynced(Tree(), to));
    std::error_code error;
    fs::remove_all(path_, error);
    return OkStatus();
  }

 private:
  PartFolder(std::string path, FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)), mutex_(std::make_unique<std::mutex>()) {}

  static std::string MarkOf(const DataListing::Object& entry) {
    return HashToHex(Xxh64(entry.object.etag + '\0' + std::to_string(entry.object.bytes)));
  }

  // After a loss of power files may be empty that the journal has.
  Status Open() {
    const std::string journal = path_ + "/journal";
    const std::string text = ReadBytes(journal);
    const std::string boot = BootId() + '\0';
    std::error_code error;
    fs::remove_all(path_ + "/incoming", error);
    if (text.starts_with(boot)) {
      Read(std::string_view(text).substr(boot.size()));
    } else {
      fs::remove_all(Tree(), error);
      fs::remove(journal, error);
    }
    TUNE_RETURN_IF_ERROR(MakeFolder(Tree()));
    TUNE_RETURN_IF_ERROR(MakeFolder(path_ + "/incoming"));
    journal_.open(journal, std::ios::binary | std::ios::app);
    if (there_.empty()) journal_ << boot;
    return journal_.good() ? OkStatus() : ErrnoStatus("write", journal);
  }

  void Read(std::string_view lines) {
    constexpr size_t kMarkBytes = 16;
    for (size_t end; (end = lines.find('\0')) != lines.npos; lines.remove_prefix(end + 1)) {
      const std::string_view line = lines.substr(0, end);
      if (line.size() < kMarkBytes + 2) continue;
      const std::string path(line.substr(kMarkBytes + 1));
      struct stat info = {};
      const bool is_there = IsFilePath(path) && lstat(PathOf(path).c_str(), &info) == 0;
      if (is_there) there_[path] = line.substr(0, kMarkBytes);
    }
  }

  std::string path_;
  FileDescriptor lock_;
  std::map<std::string, std::string> there_;  // Path to mark.
  std::ofstream journal_;
  size_t lines_ = 0;
  std::unique_ptr<std::mutex> mutex_;  // Of the three above.
};

class DataFetch {
 public:
  DataFetch(S3Client& client, const DataListing& listing, PartFolder& folder, const DataNews& news)
      : client_(client), listing_(listing), folder_(folder), news_(news) {}

  Status Run(const std::stop_token& stop) {
    TUNE_RETURN_IF_ERROR(folder_.RemoveOthers(listing_));
    progress_ = {0, static_cast<int64_t>(listing_.objects.size()), 0, listing_.bytes};
    left_ = std::vector<std::atomic<int64_t>>(listing_.objects.size());
    std::vector<Piece> pieces;
    int64_t to_come = 0;
    for (size_t i = 0; i < listing_.objects.size(); ++i) {
      const DataListing::Object& entry = listing_.objects[i];
      if (folder_.Has(entry)) {
        ++progress_.files;
        progress_.bytes += entry.object.bytes;
        continue;
      }
      to_come += entry.object.bytes;
      const int64_t parts = std::max<int64_t>(
          1, (entry.object.bytes + limits::kS3PartBytes - 1) / limits::kS3PartBytes);
      left_[i] = parts;
      for (int64_t part = 0; part < parts; ++part) pieces.push_back({i, part, parts});
    }
    TUNE_RETURN_IF_ERROR(CheckRoom(to_come));
    if (news_.on_progress) news_.on_progress(progress_);
    return SideBySide(
        pieces.size(), kObjectsAtOnce, stop,
        [&](size_t index, const std::stop_token& end) { return Bring(pieces[index], end); });
  }

 private:
  struct Piece {
    size_t index = 0;  // The object's.
    int64_t part = 0;
    int64_t parts = 1;
  };

  Status CheckRoom(int64_t bytes) const {
    const std::optional<DiskRoom> room = FindDiskRoom(folder_.Tree());
    if (!room || room->free_bytes >= bytes) return OkStatus();
    return ResourceExhausted("the data need " + std::to_string(bytes) + " bytes in " +
                             folder_.Tree() + ", whose disk has " +
                             std::to_string(room->free_bytes) + " free");
  }

  Status Bring(const Piece& piece, const std::stop_token& stop) {
    const DataListing::Object& entry = listing_.objects[piece.index];
    const int64_t begin = piece.part * limits::kS3PartBytes;
    const int64_t bytes = std::min(limits::kS3PartBytes, entry.object.bytes - begin);
    TUNE_ASSIGN_OR_RETURN(const std::string text, Fetch(entry, begin, bytes, stop));
    const std::string path = folder_.Incoming(piece.index);
    const FileDescriptor out(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (!out.is_open()) return OfDisk(ErrnoStatus("write", path));
    TUNE_RETURN_IF_ERROR(WriteAt(out, text, begin, path));
    if (--left_[piece.index] > 0) return OkStatus();
    if (piece.parts > 1) TUNE_RETURN_IF_ERROR(Prove(entry, out, path, stop));
    if (fchmod(out.get(), 0444) != 0) return OfDisk(ErrnoStatus("write", path));
    TUNE_RETURN_IF_ERROR(folder_.Take(entry, piece.index));
    const std::lock_guard lock(mutex_);
    ++progress_.files;
    progress_.bytes += entry.object.bytes;
    if (news_.on_progress) news_.on_progress(progress_);
    return OkStatus();
  }

  static Status WriteAt(const FileDescriptor& out, std::string_view text, int64_t begin,
                        const std::string& path) {
    for (size_t at = 0; at < text.size();) {
      const ssize_t count = pwrite(out.get(), text.data() + at, text.size() - at,
                                   static_cast<off_t>(begin) + static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return OfDisk(ErrnoStatus("write", path));
      at += static_cast<size_t>(count);
    }
    return OkStatus();
  }

  // All of an object in several pieces, where its ETag can show it; else each comes until it came
  // twice.
  Status Prove(const DataListing::Object& entry, const FileDescriptor& out, const std::string& path,
               const std::stop_token& stop) {
    if (ShowsFile(entry.object.etag, path, entry.object.bytes)) return OkStatus();
    bool is_md5 = false;
    for (int64_t begin = 0; begin < entry.object.bytes; begin += limits::kS3PartBytes) {
      const int64_t bytes = std::min(limits::kS3PartBytes, entry.object.bytes - begin);
      TUNE_ASSIGN_OR_RETURN(const Came came, FetchTwice(entry, begin, bytes, "", stop));
      TUNE_RETURN_IF_ERROR(WriteAt(out, came.text, begin, path));
      is_md5 = came.is_md5;
    }
    const bool is_damaged = is_md5 && !ShowsFile(entry.object.etag, path, entry.object.bytes);
    return is_damaged ? Damaged(entry) : OkStatus();
  }

  struct Came {
    std::string text;
    bool is_md5 = false;  // The object's ETag is the MD5 of its bytes.
  };
  Result<Came> FetchOnce(const DataListing::Object& entry, int64_t begin, int64_t bytes,
                         const std::stop_token& stop) {
    Came came;
    bool is_encrypted = false;
    S3Client::RangeTaker taker{[&came] { came.text.clear(); },
                               [&came](std::string_view piece) {
                                 came.text += piece;
                                 return true;
                               }};
    taker.etag = entry.object.etag;
    taker.is_encrypted = &is_encrypted;
    came.text.reserve(static_cast<size_t>(bytes));
    TUNE_RETURN_IF_ERROR(client_.GetRange(entry.object.key, begin, bytes, taker, stop));
    // In Amazon's directory buckets it is drawn.
    came.is_md5 = MayBeMd5(entry.object.etag) && !is_encrypted &&
                  !client_.bucket().ends_with(kDirectoryBucketEnd);
    return came;
  }

  // Where no ETag can show it, what comes twice is what is there. `before`: the MD5 of what came
  // before.
  Result<Came> FetchTwice(const DataListing::Object& entry, int64_t begin, int64_t bytes,
                          std::string before, const std::stop_token& stop) {
    while (true) {
      TUNE_ASSIGN_OR_RETURN(Came came, FetchOnce(entry, begin, bytes, stop));
      std::string md5 = Md5Hex(came.text);
      if (md5 == before) return came;
      before = std::move(md5);
    }
  }

  // One in several pieces is looked at when all are there.
  Result<std::string> Fetch(const DataListing::Object& entry, int64_t begin, int64_t bytes,
                            const std::stop_token& stop) {
    TUNE_ASSIGN_OR_RETURN(Came came, FetchOnce(entry, begin, bytes, stop));
    const bool is_shown = bytes < entry.object.bytes || ShowsBytes(entry.object.etag, came.text);
    if (is_shown) return std::move(came.text);
    TUNE_ASSIGN_OR_RETURN(came, FetchTwice(entry, begin, bytes, Md5Hex(came.text), stop));
    if (came.is_md5 && !ShowsBytes(entry.object.etag, came.text)) return Damaged(entry);
    return std::move(came.text);
  }

  // No further try would change it; another machine may get it.
  Status Damaged(const DataListing::Object& entry) const {
    return InvalidArgument(UrlOf(client_, entry.object.key) +
                           ": the same bytes came twice, and its ETag " + entry.object.etag +
                           " is not their MD5: it is damaged in the store, or on its way here; "
                           "upload it again");
  }

  S3Client& client_;
  const DataListing& listing_;
  PartFolder& folder_;
  const DataNews& news_;
  std::vector<std::atomic<int64_t>> left_;  // Parts of each object that have not come.
  std::mutex mutex_;
  DataProgress progress_;
};

// The turn to fetch what lies at `path`; nothing: another process has made `wanted` meanwhile.
Result<std::optional<FileDescriptor>> AwaitTurn(const std::string& path, const std::string& wanted,
                                                const DataNews& news, const std::stop_token& stop) {
  bool has_told = false;
  while (true) {
    TUNE_RETURN_IF_ERROR(OfDisk(MakeFolder(path)));
    FileDescriptor lock = OpenFolder(path);
    if (lock.is_open() && LockFolder(lock, LOCK_EX) != FolderLock::kTheirs &&
        IsFolderAt(lock, path)) {
      return std::optional(std::move(lock));
    }
    std::error_code error;
    if (fs::exists(wanted, error)) return std::optional<FileDescriptor>();
    if (lock.is_open() && !std::exchange(has_told, true) && news.on_line) {
      news.on_line("another worker of this machine fetches it");
    }
    if (!WaitUnlessStopped(kTurnPause, stop)) return Unavailable("given up");
  }
}

}  // namespace

Result<DataListing> ListData(S3Client& client, const std::string& key,
                             const std::stop_token& stop) {
  const std::string before = key.empty() ? "" : key + "/";
  DataListing listing;
  TUNE_ASSIGN_OR_RETURN(std::vector<S3Object> objects, client.List(before, stop));
  // What some programs make in a folder's place.
  std::erase_if(objects, [](const S3Object& object) { return object.key.ends_with('/'); });
  for (S3Object& object : objects) {
    std::string path = object.key.substr(before.size());
    listing.objects.push_back({std::move(path), std::move(object)});
  }
  if (objects.empty() && !key.empty()) {
    TUNE_ASSIGN_OR_RETURN(std::vector<S3Object> others, client.List(key, stop));
    for (S3Object& object : others) {
      if (object.key != key) continue;
      listing.is_one = true;
      listing.objects.push_back({key.substr(key.rfind('/') + 1), std::move(object)});
    }
  }
  if (listing.objects.empty()) {
    return NotFound(UrlOf(client, key) + " at " + client.Describe() +
                    ": there is no object of that name, nor below it");
  }
  std::sort(listing.objects.begin(), listing.objects.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  TUNE_RETURN_IF_ERROR(CheckPaths(client, key, listing));
  Sha256 hash, content;
  hash.Add(client.Describe() + '\0' + key + '\0');
  for (const DataListing::Object& entry : listing.objects) {
    listing.bytes += entry.object.bytes;
    const std::string text =
        entry.path + '\0' + std::to_string(entry.object.bytes) + '\0' + entry.object.etag + '\0';
    hash.Add(text);
    content.Add(text);
  }
  listing.hash = hash.Finish();
  listing.seen = {UrlOf(client, key), static_cast<int64_t>(listing.objects.size()), listing.bytes,
                  content.Finish().substr(0, kContentDigits)};
  return listing;
}

Result<BroughtData> BringData(S3Client& client, const std::string& key, const std::string& cache,
                              const DataNews& news, const std::stop_token& stop) {
  const std::string parent = cache + "/data";
  TUNE_RETURN_IF_ERROR(OfDisk(MakePrivateFolder(parent)));
  const std::string address = client.Describe() + '\0' + key;
  const std::string part = parent + "/" + HashToHex(Xxh64(address)) + ".part";
  std::string listed, missing;  // Of the listing before; what it had and was not there.
  for (int listings = 1; listings <= kListingsMax; ++listings) {
    TUNE_ASSIGN_OR_RETURN(const DataListing listing, ListData(client, key, stop));
    if (!missing.empty() && listing.hash == listed) {
      return Unavailable(UrlOf(client, key) + ": the store lists what it has not: " + missing);
    }
    const std::string path = parent + "/" + listing.hash;
    const auto hold = [&]() -> Result<std::optional<BroughtData>> {
      TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> held, HoldFolder(path));
      if (!held) return std::optional<BroughtData>();
      if (IsWhole(path, listing)) {
        const std::string what = listing.is_one ? "/" + listing.objects.front().path : "";
        return std::optional(BroughtData{path + what, listing.seen, *std::move(held)});
      }
      held.reset();
      RemoveUnlessHeld(path);
      std::error_code error;
      if (!fs::exists(path, error)) return std::optional<BroughtData>();
      return FailedPrecondition(path + " was changed by a program that used it, and is in use");
    };
    TUNE_ASSIGN_OR_RETURN(std::optional<BroughtData> here, hold());
    if (here) return *std::move(here);
    TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> turn, AwaitTurn(part, path, news, stop));
    TUNE_ASSIGN_OR_RETURN(here, hold());
    if (here) {
      if (turn) rmdir(part.c_str());  // Unless there is something in it.
      return *std::move(here);
    }
    if (!turn) continue;
    Result<PartFolder> begun = PartFolder::Begin(part, *std::move(turn));
    if (!begun.ok()) return OfDisk(begun.status());
    PartFolder folder = *std::move(begun);
    const Status fetched = DataFetch(client, listing, folder, news).Run(stop);
    const bool has_changed = fetched.code() == StatusCode::kFailedPrecondition ||
                             fetched.code() == StatusCode::kNotFound;
    listed = listing.hash;
    missing = fetched.code() == StatusCode::kNotFound ? fetched.message() : "";
    if (has_changed) {
      if (news.on_line) news.on_line("it changed while it was fetched: " + fetched.message());
      continue;
    }
    TUNE_RETURN_IF_ERROR(fetched);
    TUNE_RETURN_IF_ERROR(OfDisk(folder.Commit(path)));
    TUNE_ASSIGN_OR_RETURN(here, hold());
    if (here) return *std::move(here);
  }
  return Unavailable(UrlOf(client, key) + " changes all the time: it was listed " +
                     Counted(kListingsMax, "time") +
                     ", and each time an object was another one "
                     "when it was fetched");
}

}  // namespace tune
