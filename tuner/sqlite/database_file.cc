#include "tuner/sqlite/database_file.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tune {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

constexpr int64_t kFuse = 0x65735546;

// FUSE stands for network file systems (sshfs, s3fs, GlusterFS, ...) and for some of this machine,
// which the kernel's table of mounts tells apart by their types.
bool IsLocalFuse(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return false;
  const std::string device =
      std::to_string(major(info.st_dev)) + ":" + std::to_string(minor(info.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  // ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS ... - TYPE SOURCE OPTIONS
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 3; ++i) words >> word;
    if (word != device) continue;
    while (words >> word && word != "-") {
    }
    words >> word;
    if (word == "fuseblk" || word == "fuse.fuse-overlayfs") return true;
  }
  return false;
}

// SQLite would throw the WAL of a database that is not there away.
Status CheckNoWalAlone(const std::string& path) {
  struct stat info;
  if (stat(WalOf(path).c_str(), &info) != 0 || info.st_size == 0) return OkStatus();
  return FailedPrecondition(path + ": is missing or empty, but " + WalOf(path) +
                            " is there, with what was committed last; put the database back, or "
                            "remove that file too");
}

// What can be told of the path before SQLite touches anything. kNotFound: missing or empty.
Status CheckFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) {
      TUNE_RETURN_IF_ERROR(CheckNoWalAlone(path));
      return NotFound(path + ": there is no such database");
    }
    return FailedPrecondition(path + ": cannot be looked at: " + std::strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    return FailedPrecondition(path + ": is a folder; name a file, as in --db " + path + "/tune.db");
  }
  if (!S_ISREG(info.st_mode)) return FailedPrecondition(path + ": is not a regular file");
  if (info.st_size == 0) {
    TUNE_RETURN_IF_ERROR(CheckNoWalAlone(path));
    return NotFound(path + ": the file is empty");
  }
  return OkStatus();
}

// The WAL and the tuner's lock are named after the database, so each hard link would get its own.
Status CheckHasOneName(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink <= 1) {
    return OkStatus();
  }
  return FailedPrecondition(path + ": has " + std::to_string(info.st_nlink) +
                            " names (hard links), and what is written through one of them is not "
                            "seen through the others; remove the others (find / -xdev -inum " +
                            std::to_string(info.st_ino) +
                            "), or write to a copy made with tune backup");
}

Status CheckFolderForCreation(const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) {
    return FailedPrecondition(path + ": the folder " + folder +
                              " does not exist; make it with mkdir -p, or choose another --db");
  }
  if (!S_ISDIR(info.st_mode)) return FailedPrecondition(path + ": " + folder + " is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return FailedPrecondition(path + ": the folder " + folder +
                              " is not writable; choose another place with --db");
  }
  return OkStatus();
}

// Where the file format has them (sqlite.org/fileformat.html).
constexpr std::string_view kMagic("SQLite format 3", 16);  // With its final zero.
constexpr int kHeaderBytes = 100;
constexpr int kApplicationIdAt = 68;

// Reads the header's bytes alone, since a checkpoint cut short leaves a main file that is whole
// only together with its WAL; through SQLite's own file, so that no lock of this process is dropped
// (see database.h); as an immutable file, so that nothing is made beside it.
int ReadHeader(const std::string& path, unsigned char (&header)[kHeaderBytes]) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(FileUri(path, "?mode=ro&immutable=1").c_str(), &raw, flags, nullptr);
  sqlite3_file* file = nullptr;
  if (code == SQLITE_OK) {
    code = sqlite3_file_control(raw, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  }
  if (code == SQLITE_OK) code = file->pMethods->xRead(file, header, kHeaderBytes, 0);
  sqlite3_close(raw);
  return code;
}

Status CheckIsOurs(const std::string& path) {
  unsigned char header[kHeaderBytes] = {};
  const int code = ReadHeader(path, header);
  if (code == SQLITE_CANTOPEN) {
    return FailedPrecondition(path + ": cannot be opened; look at the permissions of the file");
  }
  if (code != SQLITE_OK || std::memcmp(header, kMagic.data(), kMagic.size()) != 0) {
    return FailedPrecondition(
        path + ": is not a tune database (it is no SQLite file); name another with --db");
  }
  int64_t id = 0;
  for (int i = 0; i < 4; ++i) id = id << 8 | header[kApplicationIdAt + i];
  if (id != kApplicationId) {
    return FailedPrecondition(
        path +
        ": is not a tune database but another program's SQLite file; name another with --db");
  }
  return OkStatus();
}

}  // namespace

std::string WalOf(const std::string& path) { return path + "-wal"; }

bool HasContents(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

std::string FileUri(const std::string& path, std::string_view query) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri.push_back('%');
      uri.push_back(kHex[(c >> 4) & 0xf]);
      uri.push_back(kHex[c & 0xf]);
    } else {
      uri.push_back(c);
    }
  }
  uri += query;
  return uri;
}

const char* NetworkFileSystemAt(const std::string& path) {
  char resolved[PATH_MAX];
  const std::string place = realpath(path.c_str(), resolved) != nullptr ? resolved : FolderOf(path);
  struct statfs info;
  if (statfs(place.c_str(), &info) != 0) return nullptr;
  if (info.f_type == kFuse && IsLocalFuse(place)) return nullptr;
  return NetworkFileSystemName(info.f_type);
}

Status RefusedNetwork(const std::string& path, const char* name) {
  return FailedPrecondition(path + ": lies on a network file system (" + name +
                            "), where SQLite's WAL cannot work; choose a local disk with --db");
}

bool IsTuneDatabase(const std::string& path) {
  // Not opened: when this process closes the shared memory of a database that it has open, all its
  // locks there are gone, and another process takes the database for nobody's.
  for (const char* const ending : {"-wal", "-shm", "-journal"}) {
    if (path.ends_with(ending)) return false;
  }
  return CheckIsOurs(path).ok();
}

const char* NetworkFileSystemName(int64_t statfs_type) {
  // linux/magic.h; the values are part of the kernel's interface.
  switch (static_cast<uint32_t>(statfs_type)) {
    case 0x6969:
      return "NFS";
    case 0x517b:
    case 0xff534d42:
    case 0xfe534d42:
      return "SMB";
    case 0x5346414f:
      return "AFS";
    case 0x73757245:
      return "Coda";
    case 0x0bd00bd0:
      return "Lustre";
    case 0x47504653:
      return "GPFS";
    case 0x19830326:
      return "BeeGFS";
    case 0x00c36400:
      return "CephFS";
    case 0x01021997:
      return "9p";
    case kFuse:
      return "FUSE";
    default:
      return nullptr;
  }
}

Status CheckDatabaseFile(const std::string& path, Access access) {
  if (access != Access::kRead) {
    if (const char* name = NetworkFileSystemAt(path)) return RefusedNetwork(path, name);
    TUNE_RETURN_IF_ERROR(CheckHasOneName(path));
  }
  const Status file = CheckFile(path);
  if (file.code() == StatusCode::kNotFound && access == Access::kCreate)
    return CheckFolderForCreation(path);
  TUNE_RETURN_IF_ERROR(file);
  return CheckIsOurs(path);
}

}  // namespace tune
