#include "trial_runner/tls/tls_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "core/posix/file_descriptor.h"

namespace tune {
namespace {

constexpr char kIdentityFile[] = "/identity.pem";
constexpr char kPageKeyFile[] = "/page_key.pem";
constexpr char kPageCertificateFile[] = "/page_certificate.pem";
constexpr char kTokensFile[] = "/tokens.json";
constexpr char kListenFile[] = "/listen.json";
constexpr char kLockFile[] = "/lock";

Status Failed(const std::string& path, const char* what, int error) {
  const std::string message = path + ": cannot " + what + ": " + strerror(error);
  if (error == ENOSPC || error == EDQUOT) return ResourceExhausted(message);
  if (error == EACCES || error == EPERM || error == EROFS) return FailedPrecondition(message);
  return Unavailable(message);
}

Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || fsync(folder.get()) != 0) return Failed(path, "sync", errno);
  return OkStatus();
}

// Secrets lie here: ours alone, or not used.
Status CheckPrivate(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? NotFound(path + " is not there") : Failed(path, "look at it", errno);
  }
  if (status.st_uid != geteuid()) {
    return FailedPrecondition(path + " belongs to another user; run as its owner");
  }
  if ((status.st_mode & 077) != 0) {
    return FailedPrecondition(path + " can be read by other users; remove the folder " +
                              "for a new identity, or take their rights away (chmod go=)");
  }
  return OkStatus();
}

Result<std::string> ReadPrivate(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return errno == ENOENT ? NotFound(path + " is not there") : Failed(path, "read", errno);
  }
  std::string text;
  char buffer[16 << 10];
  ssize_t count = 0;
  while ((count = read(file.get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > limits::kTlsFileBytesMax) return DataLoss(path + " is too large");
  }
  if (count < 0) return Failed(path, "read", errno);
  return text;
}

// The whole new text or the old one, whatever happens. Under the lock.
Status WritePrivate(const std::string& folder, const char* name, const std::string& text) {
  const std::string path = folder + name;
  const std::string fresh = path + ".new";
  {
    const FileDescriptor file(
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) return Failed(fresh, "write", errno);
    for (size_t done = 0; done < text.size();) {
      const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
      if (count < 0 && errno != EINTR) return Failed(fresh, "write", errno);
      if (count > 0) done += static_cast<size_t>(count);
    }
    if (fsync(file.get()) != 0) return Failed(fresh, "sync", errno);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return Failed(path, "replace", errno);
  return SyncFolder(folder);
}

// Held until the object ends.
class FolderLock {
 public:
  static Result<std::unique_ptr<FolderLock>> Take(const std::string& folder) {
    const std::string path = folder + kLockFile;
    auto lock = std::unique_ptr<FolderLock>(
        new FolderLock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
    if (!lock->file_.is_open()) return Failed(path, "open", errno);
    while (flock(lock->file_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Failed(path, "lock", errno);
    }
    return lock;
  }

 private:
  explicit FolderLock(int fd) : file_(fd) {}
  FileDescriptor file_;
};

Status MakeFolder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return Failed(parent.string(), "make the folder", error.value());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failed(path, "make the folder", errno);
  }
  TUNE_RETURN_IF_ERROR(SyncFolder(parent.string()));
  return SyncFolder(parent.parent_path().string());
}

Result<TunerIdentity> ReadIdentity(const std::string& folder) {
  const std::string path = folder + kIdentityFile;
  TUNE_RETURN_IF_ERROR(CheckPrivate(path));
  TUNE_ASSIGN_OR_RETURN(const std::string pem, ReadPrivate(path));
  Result<TunerIdentity> identity = ParseTunerIdentity(pem);
  if (!identity.ok()) return identity.status().At(path);
  return identity;
}

Result<Value> ReadListenFile(const std::string& folder) {
  const Result<std::string> text = ReadPrivate(folder + kListenFile);
  if (!text.ok()) {
    if (text.status().code() == StatusCode::kNotFound) return Value::MakeMap();
    return text.status();
  }
  Result<Value> value = ParseJson(*text);
  if (!value.ok()) return value.status().At(folder + kListenFile);
  if (!value->is_map()) return DataLoss(folder + kListenFile + ": expected a map");
  return value;
}

}  // namespace

std::string TlsFolderOf(const std::string& artifacts_dir) { return artifacts_dir + "/tls"; }

Result<TlsFolder> TlsFolder::Open(const std::string& path) {
  TUNE_RETURN_IF_ERROR(CheckPrivate(path));
  TUNE_ASSIGN_OR_RETURN(TunerIdentity identity, ReadIdentity(path));
  return TlsFolder(path, std::move(identity));
}

Result<TlsFolder> TlsFolder::OpenOrMake(const std::string& path) {
  TUNE_RETURN_IF_ERROR(MakeFolder(path));
  TUNE_RETURN_IF_ERROR(CheckPrivate(path));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, FolderLock::Take(path));
  Result<TunerIdentity> identity = ReadIdentity(path);
  if (identity.ok()) return TlsFolder(path, *std::move(identity));
  if (identity.status().code() != StatusCode::kNotFound) return identity.status();
  TUNE_ASSIGN_OR_RETURN(TunerIdentity made, MakeTunerIdentity());
  TUNE_RETURN_IF_ERROR(WritePrivate(path, kIdentityFile, FormatTunerIdentity(made)));
  return TlsFolder(path, std::move(made));
}

Result<ServerIdentity> OpenOrMakePageIdentity(const std::string& path,
                                              const std::vector<std::string>& hosts, Instant now) {
  TUNE_RETURN_IF_ERROR(MakeFolder(path));
  TUNE_RETURN_IF_ERROR(CheckPrivate(path));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, FolderLock::Take(path));
  const std::string key_path = path + kPageKeyFile;
  const std::string certificate_path = path + kPageCertificateFile;
  const Result<std::string> certificate = ReadPrivate(certificate_path);
  if (certificate.ok()) {
    TUNE_RETURN_IF_ERROR(CheckPrivate(key_path));
    TUNE_ASSIGN_OR_RETURN(const std::string key, ReadPrivate(key_path));
    return ReadServerIdentity({certificate_path, *certificate}, {key_path, key}, now);
  }
  if (certificate.status().code() != StatusCode::kNotFound) return certificate.status();
  TUNE_ASSIGN_OR_RETURN(ServerIdentity made, MakeServerIdentity(hosts));
  // The certificate last: where it is there, so is its key.
  TUNE_RETURN_IF_ERROR(WritePrivate(path, kPageKeyFile, made.key));
  TUNE_RETURN_IF_ERROR(WritePrivate(path, kPageCertificateFile, made.certificates));
  return made;
}

Result<TokenList> TlsFolder::ReadTokens() const {
  const std::string path = path_ + kTokensFile;
  const Result<std::string> text = ReadPrivate(path);
  if (!text.ok()) {
    if (text.status().code() == StatusCode::kNotFound) return TokenList();
    return text.status();
  }
  Result<TokenList> list = TokenList::Parse(*text);
  if (list.ok()) return list;
  return DataLoss(path + ": " + list.status().message() +
                  "; put a copy of it in its place, or remove it: then no token and no key counts "
                  "any more, and all are made anew (tune tokens create)");
}

Status TlsFolder::ChangeTokens(const std::function<Status(TokenList&)>& change) const {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, FolderLock::Take(path_));
  TUNE_ASSIGN_OR_RETURN(TokenList list, ReadTokens());
  TUNE_RETURN_IF_ERROR(change(list));
  return WritePrivate(path_, kTokensFile, list.ToText());
}

std::string TlsFolder::TokensVersion() const {
  struct stat status = {};
  if (stat((path_ + kTokensFile).c_str(), &status) != 0) return "";
  return std::to_string(status.st_ino) + " " + std::to_string(status.st_size) + " " +
         std::to_string(status.st_ctim.tv_sec) + " " + std::to_string(status.st_ctim.tv_nsec);
}

Result<std::optional<std::string>> TlsFolder::ListenAddressOf(const std::string& sweep) const {
  TUNE_ASSIGN_OR_RETURN(const Value addresses, ReadListenFile(path_));
  const Value* const address = addresses.Find(sweep);
  if (address == nullptr || !address->is_string()) return std::optional<std::string>();
  return std::optional(address->AsString());
}

Result<std::optional<std::string>> TlsFolder::LastListenAddress() const {
  TUNE_ASSIGN_OR_RETURN(const Value addresses, ReadListenFile(path_));
  if (addresses.AsMap().empty()) return std::optional<std::string>();
  return ListenAddressOf(addresses.AsMap().back().key);
}

Status TlsFolder::KeepListenAddress(const std::string& sweep,
                                    const std::optional<std::string>& address) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, FolderLock::Take(path_));
  TUNE_ASSIGN_OR_RETURN(Value addresses, ReadListenFile(path_));
  std::erase_if(addresses.AsMap(), [&](const MapEntry& entry) { return entry.key == sweep; });
  if (address) addresses.Set(sweep, *address);  // At the end: it is the last one.
  return WritePrivate(path_, kListenFile, ToJson(addresses) + "\n");
}

Result<NewToken> MakeToken(const TlsFolder& folder, Instant now, Duration validity) {
  TUNE_ASSIGN_OR_RETURN(const Fingerprint authority, FingerprintOf(folder.identity().authority));
  TUNE_ASSIGN_OR_RETURN(const JoinToken token, DrawJoinToken(authority));
  TUNE_ASSIGN_OR_RETURN(const WorkerIdentity worker, DeriveWorkerIdentity(token));
  NewToken made;
  made.text = FormatJoinToken(token);
  made.record.id = token.id_text();
  TUNE_ASSIGN_OR_RETURN(made.record.key_hash, KeyHashOf(worker.certificate));
  made.record.created_at = now;
  made.record.expires_at = now + validity;
  TUNE_RETURN_IF_ERROR(folder.ChangeTokens([&](TokenList& list) { return list.Add(made.record); }));
  return made;
}

}  // namespace tune
