#include "core/posix/file_hash.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string_view>

#include "core/hash.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"

namespace tune {

Result<FileHash> HashFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return ErrnoStatus("open", path);
  const auto bytes = static_cast<size_t>(status.st_size);
  if (bytes == 0) return FileHash{0, Xxh64(std::string_view())};
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return ErrnoStatus("read", path);
  const uint64_t hash = Xxh64(std::string_view(static_cast<const char*>(mapped), bytes));
  munmap(mapped, bytes);
  return FileHash{static_cast<int64_t>(bytes), hash};
}

}  // namespace tune
