#include "tests/sim/simulated_disk.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"

namespace tune::sim {
namespace {

constexpr size_t kTornAtBytes = 512;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

SimulatedDisk::FilePtr SimulatedDisk::Find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

SimulatedDisk::FilePtr SimulatedDisk::FindOrMake(const std::string& path) {
  FilePtr& file = names_[path];
  if (file == nullptr) file = std::make_shared<File>();
  return file;
}

bool SimulatedDisk::Remove(const std::string& path) { return names_.erase(path) > 0; }

std::vector<std::string> SimulatedDisk::List(std::string_view prefix) const {
  std::vector<std::string> paths;
  for (auto it = names_.lower_bound(std::string(prefix)); it != names_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    paths.push_back(it->first);
  }
  return paths;
}

void SimulatedDisk::Write(File& file, size_t offset, std::string_view bytes) {
  if (file.cached.size() < offset + bytes.size()) {
    file.cached.resize(offset + bytes.size());
    file.is_size_unsynced = true;
  }
  std::memcpy(file.cached.data() + offset, bytes.data(), bytes.size());
  if (!file.unsynced.empty()) {
    File::Range& last = file.unsynced.back();
    // The two halves of a WAL frame, and the frames after it, are one range: a power cut tears
    // ranges by sectors.
    if (last.offset + last.size == offset) {
      last.size += bytes.size();
      return;
    }
  }
  file.unsynced.push_back({offset, bytes.size()});
}

void SimulatedDisk::Truncate(File& file, size_t size) {
  if (file.cached.size() == size) return;
  file.cached.resize(size);
  file.is_size_unsynced = true;
}

void SimulatedDisk::Sync(File& file) {
  if (file.is_size_unsynced) file.durable.resize(file.cached.size());
  for (const File::Range& range : file.unsynced) {
    const size_t end = std::min(range.offset + range.size, file.cached.size());
    if (range.offset >= end) continue;
    std::memcpy(file.durable.data() + range.offset, file.cached.data() + range.offset,
                end - range.offset);
  }
  file.unsynced.clear();
  file.is_size_unsynced = false;
}

void SimulatedDisk::SyncFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  std::erase_if(durable_names_, [&](const auto& entry) {
    return FolderOf(entry.first) == folder && !names_.contains(entry.first);
  });
  for (auto it = names_.lower_bound(folder + "/"); it != names_.end(); ++it) {
    if (!it->first.starts_with(folder + "/")) break;
    if (FolderOf(it->first) == folder) durable_names_[it->first] = it->second;
  }
}

void SimulatedDisk::SyncName(const std::string& path) {
  if (const FilePtr file = Find(path)) {
    durable_names_[path] = file;
  } else {
    durable_names_.erase(path);
  }
}

void SimulatedDisk::LoseBytes(File& file, Loss loss, KeyedRandom& random) {
  if (loss == Loss::kSome) {
    std::string survived = file.durable;
    if (file.cached.size() < survived.size() && random.NextBelow(2) == 0) {
      survived.resize(file.cached.size());
    }
    for (const File::Range& range : file.unsynced) {
      const size_t end = std::min(range.offset + range.size, file.cached.size());
      // Sector by sector, as far as the range goes; a run of them that begins or ends by dice.
      const bool is_in_order = random.NextBelow(2) == 0;
      for (size_t at = range.offset; at < end;) {
        const size_t next = std::min(end, (at / kTornAtBytes + 1) * kTornAtBytes);
        const bool survives = random.NextBelow(is_in_order ? 16 : 2) != 0;
        if (survives) {
          if (survived.size() < next) survived.resize(next);
          std::memcpy(survived.data() + at, file.cached.data() + at, next - at);
        } else if (is_in_order) {
          break;
        }
        at = next;
      }
    }
    file.durable = std::move(survived);
  }
  file.cached = file.durable;
  file.unsynced.clear();
  file.is_size_unsynced = false;
}

void SimulatedDisk::PowerLoss(Loss loss, KeyedRandom& random) {
  std::map<std::string, FilePtr> survived = durable_names_;
  if (loss == Loss::kSome) {
    for (const auto& [path, file] : names_) {
      const auto before = survived.find(path);
      if ((before == survived.end() || before->second != file) && random.NextBelow(2) == 0) {
        survived[path] = file;
      }
    }
    for (const auto& [path, file] : durable_names_) {
      if (!names_.contains(path) && random.NextBelow(2) == 0) survived.erase(path);
    }
  }
  for (const auto& [path, file] : survived) {
    const bool is_dirty = !file->unsynced.empty() || file->is_size_unsynced;
    if (is_dirty) LoseBytes(*file, loss, random);
  }
  names_ = survived;
  durable_names_ = std::move(survived);
}

void SimulatedDisk::Corrupt(const std::string& path, size_t offset) {
  const FilePtr file = Find(path);
  TUNE_CHECK(file != nullptr && offset < file->cached.size());
  file->cached[offset] = static_cast<char>(file->cached[offset] ^ 0x20);
  if (offset < file->durable.size()) file->durable[offset] = file->cached[offset];
}

}  // namespace tune::sim
