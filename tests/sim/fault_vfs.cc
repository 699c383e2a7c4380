#include "tests/sim/fault_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "core/check.h"

namespace tune::sim {

constexpr int kPathBytesMax = 1024;
constexpr int kSectorBytes = 4096;

// The locks of one database file (sqlite.org/lockingv3.html); owners are open files.
struct FaultVfs::Locks {
  std::set<const void*> shared;
  const void* reserved = nullptr;
  const void* pending = nullptr;
  const void* exclusive = nullptr;
};

// What processes map of the "-shm" file. It lives while somebody maps it.
struct FaultVfs::SharedMemory {
  std::vector<std::unique_ptr<char[]>> regions;
  int mapped_count = 0;
  int shared_counts[SQLITE_SHM_NLOCK] = {};
  bool exclusive[SQLITE_SHM_NLOCK] = {};
};

// Allocated by SQLite, made and ended in place.
struct FaultVfs::OpenFile {
  sqlite3_file base;  // First: SQLite sees only this.
  FaultVfs* vfs;
  std::string path;
  SimulatedDisk::FilePtr file;
  int64_t generation;
  bool is_new;            // Its name has not been synced.
  bool is_gone_at_close;  // A temporary file.
  int lock_level = SQLITE_LOCK_NONE;
  std::shared_ptr<Locks> locks = nullptr;
  std::shared_ptr<SharedMemory> memory = nullptr;
  uint32_t shm_shared = 0;  // Bits of the slots that this connection holds.
  uint32_t shm_exclusive = 0;

  bool is_dead() const { return generation != vfs->generation_ || vfs->is_dead_; }
};

struct FaultVfs::Methods {
  static FaultVfs& Of(sqlite3_vfs* vfs) { return *static_cast<FaultVfs*>(vfs->pAppData); }
  static OpenFile& Of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file); }

  // ---- files

  static int Open(sqlite3_vfs* raw, const char* name, sqlite3_file* out, int flags,
                  int* out_flags) {
    FaultVfs& vfs = Of(raw);
    out->pMethods = nullptr;
    if (vfs.is_dead_) return SQLITE_CANTOPEN;
    SimulatedDisk::FilePtr file;
    bool is_new = false;
    if (name == nullptr) {
      file = std::make_shared<SimulatedDisk::File>();
    } else {
      file = vfs.disk_.Find(name);
      if (file == nullptr) {
        if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
        if (vfs.Ask(false) != Permission::kYes) return SQLITE_CANTOPEN;
        file = vfs.disk_.FindOrMake(name);
        is_new = true;
      }
      // The unix VFS syncs the folder of a journal or WAL with the file's first sync, new or not
      // (who made it may have died before); not that of a new database.
      if ((flags & SQLITE_OPEN_CREATE) != 0 &&
          (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0) {
        is_new = true;
      }
    }
    auto* const open = new (out) OpenFile{{&io_methods},
                                          &vfs,
                                          name == nullptr ? "" : name,
                                          std::move(file),
                                          vfs.generation_,
                                          is_new,
                                          (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    if (name != nullptr) {
      std::shared_ptr<Locks>& locks = vfs.locks_[name];
      if (locks == nullptr) locks = std::make_shared<Locks>();
      open->locks = locks;
    }
    if (out_flags != nullptr) *out_flags = flags;
    return SQLITE_OK;
  }

  static int Close(sqlite3_file* raw) {
    OpenFile& file = Of(raw);
    if (file.memory != nullptr) ShmUnmap(raw, 0);
    Unlock(raw, SQLITE_LOCK_NONE);
    if (file.is_gone_at_close && !file.path.empty() && !file.is_dead()) {
      file.vfs->disk_.Remove(file.path);
    }
    file.~OpenFile();
    return SQLITE_OK;
  }

  static int Read(sqlite3_file* raw, void* out, int size, sqlite3_int64 offset) {
    const OpenFile& file = Of(raw);
    if (file.is_dead()) return SQLITE_IOERR_READ;
    const std::string& bytes = file.file->cached;
    const auto begin = static_cast<size_t>(offset);
    const size_t there =
        begin >= bytes.size() ? 0 : std::min(bytes.size() - begin, static_cast<size_t>(size));
    std::memcpy(out, bytes.data() + std::min(begin, bytes.size()), there);
    if (there == static_cast<size_t>(size)) return SQLITE_OK;
    std::memset(static_cast<char*>(out) + there, 0, static_cast<size_t>(size) - there);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int Write(sqlite3_file* raw, const void* bytes, int size, sqlite3_int64 offset) {
    OpenFile& file = Of(raw);
    if (file.is_dead()) return SQLITE_IOERR_WRITE;
    const auto end = static_cast<size_t>(offset) + static_cast<size_t>(size);
    switch (file.vfs->Ask(end > file.file->cached.size())) {
      case Permission::kFull:
        return SQLITE_FULL;
      case Permission::kFails:
      case Permission::kDead:
        return SQLITE_IOERR_WRITE;
      case Permission::kYes:
        break;
    }
    SimulatedDisk::Write(*file.file, static_cast<size_t>(offset),
                         {static_cast<const char*>(bytes), static_cast<size_t>(size)});
    return file.vfs->is_dead_ ? SQLITE_IOERR_WRITE : SQLITE_OK;
  }

  static int Truncate(sqlite3_file* raw, sqlite3_int64 size) {
    OpenFile& file = Of(raw);
    if (file.is_dead() || file.vfs->Ask(false) != Permission::kYes) return SQLITE_IOERR_TRUNCATE;
    SimulatedDisk::Truncate(*file.file, static_cast<size_t>(size));
    return file.vfs->is_dead_ ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
  }

  static int Sync(sqlite3_file* raw, int /*flags*/) {
    OpenFile& file = Of(raw);
    if (file.is_dead() || file.vfs->Ask(false) != Permission::kYes) return SQLITE_IOERR_FSYNC;
    ++file.vfs->sync_count_;
    if (file.vfs->is_lying_) return SQLITE_OK;
    SimulatedDisk::Sync(*file.file);
    const bool is_journal = file.path.ends_with("-journal") || file.path.ends_with("-wal");
    if (file.is_new && (is_journal || file.vfs->name_follows_sync_)) {
      file.vfs->disk_.SyncFolderOf(file.path);
      file.is_new = false;
    }
    return file.vfs->is_dead_ ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  }

  static int FileSize(sqlite3_file* raw, sqlite3_int64* out) {
    if (Of(raw).is_dead()) return SQLITE_IOERR_FSTAT;
    *out = static_cast<sqlite3_int64>(Of(raw).file->cached.size());
    return SQLITE_OK;
  }

  // ---- locks of the database file

  static int Lock(sqlite3_file* raw, int level) {
    OpenFile& file = Of(raw);
    if (file.is_dead()) return SQLITE_IOERR_LOCK;
    if (level <= file.lock_level || file.locks == nullptr) return SQLITE_OK;
    Locks& locks = *file.locks;
    const void* const self = raw;
    const auto is_other = [self](const void* owner) { return owner != nullptr && owner != self; };
    if (is_other(locks.exclusive)) return SQLITE_BUSY;
    if (file.lock_level == SQLITE_LOCK_NONE) {
      if (is_other(locks.pending)) return SQLITE_BUSY;
      locks.shared.insert(self);
      file.lock_level = SQLITE_LOCK_SHARED;
    }
    if (level >= SQLITE_LOCK_RESERVED && file.lock_level < SQLITE_LOCK_RESERVED) {
      if (is_other(locks.reserved)) return SQLITE_BUSY;
      locks.reserved = self;
      file.lock_level = SQLITE_LOCK_RESERVED;
    }
    if (level == SQLITE_LOCK_EXCLUSIVE) {
      locks.pending = self;
      file.lock_level = SQLITE_LOCK_PENDING;
      if (locks.shared.size() > 1) return SQLITE_BUSY;
      locks.exclusive = self;
      file.lock_level = SQLITE_LOCK_EXCLUSIVE;
    }
    return SQLITE_OK;
  }

  static int Unlock(sqlite3_file* raw, int level) {
    OpenFile& file = Of(raw);
    if (file.locks == nullptr || level >= file.lock_level) return SQLITE_OK;
    Locks& locks = *file.locks;
    const void* const self = raw;
    for (const void** owner : {&locks.reserved, &locks.pending, &locks.exclusive}) {
      if (*owner == self) *owner = nullptr;
    }
    if (level == SQLITE_LOCK_NONE) locks.shared.erase(self);
    file.lock_level = level;
    return SQLITE_OK;
  }

  static int CheckReservedLock(sqlite3_file* raw, int* out) {
    const OpenFile& file = Of(raw);
    *out = file.locks != nullptr && file.locks->reserved != nullptr ? 1 : 0;
    return SQLITE_OK;
  }

  // ---- shared memory of the WAL

  static int ShmMap(sqlite3_file* raw, int region, int size, int extend, void volatile** out) {
    OpenFile& file = Of(raw);
    *out = nullptr;
    if (file.is_dead()) return SQLITE_IOERR_SHMMAP;
    if (file.memory == nullptr) {
      std::shared_ptr<SharedMemory>& memory = file.vfs->memories_[file.path];
      if (memory == nullptr) memory = std::make_shared<SharedMemory>();
      ++memory->mapped_count;
      file.memory = memory;
    }
    auto& regions = file.memory->regions;
    while (static_cast<int>(regions.size()) <= region) {
      if (extend == 0) return SQLITE_OK;
      regions.push_back(std::make_unique<char[]>(static_cast<size_t>(size)));
    }
    *out = regions[static_cast<size_t>(region)].get();
    return SQLITE_OK;
  }

  static int ShmLock(sqlite3_file* raw, int offset, int count, int flags) {
    OpenFile& file = Of(raw);
    if (file.is_dead() || file.memory == nullptr) return SQLITE_IOERR_SHMLOCK;
    SharedMemory& memory = *file.memory;
    const uint32_t mask = ((1u << count) - 1) << offset;
    if ((flags & SQLITE_SHM_UNLOCK) != 0) {
      for (int i = offset; i < offset + count; ++i) {
        if ((file.shm_shared & (1u << i)) != 0) --memory.shared_counts[i];
        if ((file.shm_exclusive & (1u << i)) != 0) memory.exclusive[i] = false;
      }
      file.shm_shared &= ~mask;
      file.shm_exclusive &= ~mask;
      return SQLITE_OK;
    }
    const bool is_shared = (flags & SQLITE_SHM_SHARED) != 0;
    for (int i = offset; i < offset + count; ++i) {
      const bool held_exclusive = (file.shm_exclusive & (1u << i)) != 0;
      const int own_shared = (file.shm_shared & (1u << i)) != 0 ? 1 : 0;
      if (memory.exclusive[i] && !held_exclusive) return SQLITE_BUSY;
      if (!is_shared && memory.shared_counts[i] > own_shared) return SQLITE_BUSY;
    }
    for (int i = offset; i < offset + count; ++i) {
      const uint32_t bit = 1u << i;
      if (is_shared) {
        if ((file.shm_shared & bit) == 0) ++memory.shared_counts[i];
        file.shm_shared |= bit;
      } else {
        memory.exclusive[i] = true;
        file.shm_exclusive |= bit;
      }
    }
    return SQLITE_OK;
  }

  static void ShmBarrier(sqlite3_file* /*raw*/) {}

  static int ShmUnmap(sqlite3_file* raw, int /*delete_flag*/) {
    OpenFile& file = Of(raw);
    if (file.memory == nullptr) return SQLITE_OK;
    for (int i = 0; i < SQLITE_SHM_NLOCK; ++i) {
      if ((file.shm_shared & (1u << i)) != 0) --file.memory->shared_counts[i];
      if ((file.shm_exclusive & (1u << i)) != 0) file.memory->exclusive[i] = false;
    }
    file.shm_shared = file.shm_exclusive = 0;
    if (--file.memory->mapped_count == 0) {
      const auto found = file.vfs->memories_.find(file.path);
      if (found != file.vfs->memories_.end() && found->second == file.memory) {
        file.vfs->memories_.erase(found);
      }
    }
    file.memory.reset();
    return SQLITE_OK;
  }

  // ---- the rest

  static int FileControl(sqlite3_file* /*raw*/, int /*operation*/, void* /*argument*/) {
    return SQLITE_NOTFOUND;
  }
  static int SectorSize(sqlite3_file* /*raw*/) { return kSectorBytes; }
  static int DeviceCharacteristics(sqlite3_file* /*raw*/) {
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;  // As the unix VFS says of every file system.
  }

  static int Delete(sqlite3_vfs* raw, const char* name, int sync_folder) {
    FaultVfs& vfs = Of(raw);
    if (vfs.disk_.Find(name) == nullptr) return SQLITE_IOERR_DELETE_NOENT;
    if (vfs.Ask(false) != Permission::kYes) return SQLITE_IOERR_DELETE;
    vfs.disk_.Remove(name);
    if (sync_folder != 0 && !vfs.is_lying_) vfs.disk_.SyncFolderOf(name);
    return vfs.is_dead_ ? SQLITE_IOERR_DELETE : SQLITE_OK;
  }
  static int Access(sqlite3_vfs* raw, const char* name, int flags, int* out) {
    const SimulatedDisk::FilePtr file = Of(raw).disk_.Find(name);
    // As the unix VFS: an empty file is as good as none for SQLITE_ACCESS_EXISTS.
    *out = file != nullptr && (flags != SQLITE_ACCESS_EXISTS || !file->cached.empty()) ? 1 : 0;
    return SQLITE_OK;
  }
  static int FullPathname(sqlite3_vfs* /*raw*/, const char* name, int size, char* out) {
    if (std::strlen(name) + 1 > static_cast<size_t>(size)) return SQLITE_CANTOPEN;
    std::strcpy(out, name);
    return SQLITE_OK;
  }
  static int Randomness(sqlite3_vfs* raw, int size, char* out) {
    for (int i = 0; i < size; ++i) out[i] = static_cast<char>(Of(raw).random_.NextU64());
    return size;
  }
  static int Sleep(sqlite3_vfs* /*raw*/, int microseconds) { return microseconds; }
  static int CurrentTime(sqlite3_vfs* /*raw*/, double* out) {
    *out = 2461000.5;  // A day in 2025; nothing of ours asks SQLite for the time.
    return SQLITE_OK;
  }
  static int GetLastError(sqlite3_vfs* /*raw*/, int /*size*/, char* /*out*/) { return 0; }

  static const sqlite3_io_methods io_methods;
};

const sqlite3_io_methods FaultVfs::Methods::io_methods = [] {
  sqlite3_io_methods methods = {};
  methods.iVersion = 2;  // With shared memory, without memory mapping.
  methods.xClose = Close;
  methods.xRead = Read;
  methods.xWrite = Write;
  methods.xTruncate = Truncate;
  methods.xSync = Sync;
  methods.xFileSize = FileSize;
  methods.xLock = Lock;
  methods.xUnlock = Unlock;
  methods.xCheckReservedLock = CheckReservedLock;
  methods.xFileControl = FileControl;
  methods.xSectorSize = SectorSize;
  methods.xDeviceCharacteristics = DeviceCharacteristics;
  methods.xShmMap = ShmMap;
  methods.xShmLock = ShmLock;
  methods.xShmBarrier = ShmBarrier;
  methods.xShmUnmap = ShmUnmap;
  return methods;
}();

FaultVfs::FaultVfs(SimulatedDisk& disk, uint64_t seed)
    : disk_(disk), name_("fault"), vfs_(new sqlite3_vfs()), random_(seed, "sqlite") {
  TUNE_CHECK(sqlite3_initialize() == SQLITE_OK);
  TUNE_CHECK(sqlite3_vfs_find(name_.c_str()) == nullptr);
  vfs_->iVersion = 1;
  vfs_->szOsFile = sizeof(OpenFile);
  vfs_->mxPathname = kPathBytesMax;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->xOpen = Methods::Open;
  vfs_->xDelete = Methods::Delete;
  vfs_->xAccess = Methods::Access;
  vfs_->xFullPathname = Methods::FullPathname;
  vfs_->xRandomness = Methods::Randomness;
  vfs_->xSleep = Methods::Sleep;
  vfs_->xCurrentTime = Methods::CurrentTime;
  vfs_->xGetLastError = Methods::GetLastError;
  TUNE_CHECK(sqlite3_vfs_register(vfs_.get(), 1) == SQLITE_OK);
  sqlite3_randomness(0, nullptr);  // SQLite's generator begins anew, with a seed from here.
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(vfs_.get());
  sqlite3_randomness(0, nullptr);
}

FaultVfs::Permission FaultVfs::Ask(bool grows) {
  if (is_dead_) return Permission::kDead;
  ++change_count_;
  if (die_in_ > 0 && --die_in_ == 0) {
    Kill();
    return random_.NextBelow(2) == 0 ? Permission::kYes : Permission::kDead;
  }
  if (fail_in_ > 0 && --fail_in_ == 0) return Permission::kFails;
  return grows && is_full_ ? Permission::kFull : Permission::kYes;
}

void FaultVfs::Kill() {
  is_dead_ = true;
  die_in_ = fail_in_ = 0;
}

void FaultVfs::KillAtCall(int64_t calls) { die_in_ = calls; }

void FaultVfs::Revive() {
  is_dead_ = false;
  ++generation_;
  locks_.clear();
  memories_.clear();
}

}  // namespace tune::sim
