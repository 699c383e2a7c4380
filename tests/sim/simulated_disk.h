// Files as programs and a power cut see them: each byte is either synced, or only in the operating
// system's cache. Names are of two kinds in the same way: a file that was made or removed is so for
// good once its folder is synced.
//
// The death of a process loses nothing of this; PowerLoss loses what was not synced: all of it, or
// some by dice, with the last piece torn at a sector. The cache holds the newest bytes alone, so
// what survives of two writes to the same place is of the later one.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"

namespace tune::sim {

class SimulatedDisk {
 public:
  struct File {
    std::string cached;   // What programs read.
    std::string durable;  // What a power cut leaves.
    struct Range {
      size_t offset = 0;
      size_t size = 0;
    };
    std::vector<Range> unsynced;
    bool is_size_unsynced = false;
  };
  using FilePtr = std::shared_ptr<File>;

  // Null when it is not there.
  FilePtr Find(const std::string& path) const;
  FilePtr FindOrMake(const std::string& path);
  // Whether it was there. Those who have it open keep it.
  bool Remove(const std::string& path);
  // Every path that begins so, in order.
  std::vector<std::string> List(std::string_view prefix) const;

  static void Write(File& file, size_t offset, std::string_view bytes);
  static void Truncate(File& file, size_t size);
  static void Sync(File& file);
  void SyncFolderOf(const std::string& path);
  // Of the folder's names this one alone.
  void SyncName(const std::string& path);

  // How much an unsynced byte or name is worth.
  enum class Loss { kAll, kSome };
  void PowerLoss(Loss loss, KeyedRandom& random);

  // The bytes of a file that a program reads, changed beneath it: a failing medium.
  void Corrupt(const std::string& path, size_t offset);

 private:
  static void LoseBytes(File& file, Loss loss, KeyedRandom& random);

  std::map<std::string, FilePtr> names_;
  std::map<std::string, FilePtr> durable_names_;
};

}  // namespace tune::sim
