#include "trial_runner/package/package_format.h"

#include <algorithm>

#include "core/limits.h"

namespace tune {
namespace {

constexpr size_t kNameBytesMax = 255;  // Of one name in a path: what file systems take.
constexpr size_t kPathLengthBytes = 4;
constexpr size_t kContentLengthBytes = 8;

std::string LittleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

uint64_t NumberOf(std::string_view text) {
  uint64_t number = 0;
  for (size_t i = text.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(text[i]);
  return number;
}

std::string_view ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Status CheckPath(std::string_view path) {
  if (path.size() > limits::kPathBytesMax) return DataLoss("its path is too long");
  if (path.find('\0') != std::string_view::npos) return DataLoss("its path holds a zero byte");
  std::string_view rest = path;
  for (int depth = 1;; ++depth) {
    const size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name.empty() || name == "." || name == "..") {
      return DataLoss("its path leads out of the folder");
    }
    if (name.size() > kNameBytesMax) return DataLoss("its name is too long");
    if (depth > limits::kPackageDepthMax) return DataLoss("it lies too deep");
    if (slash == std::string_view::npos) return OkStatus();
    rest.remove_prefix(slash + 1);
  }
}

Status CheckContent(const PackageEntry& entry) {
  if (IsFolder(entry.kind) && !entry.content.empty()) {
    return DataLoss("a folder has no content");
  }
  if (entry.kind != PackageKind::kLink) return OkStatus();
  const bool is_target = !entry.content.empty() && entry.content.size() < limits::kPathBytesMax &&
                         entry.content.find('\0') == std::string_view::npos;
  return is_target ? OkStatus() : DataLoss("it links to nowhere");
}

// Takes what stands at the front of `rest`.
class Taker {
 public:
  explicit Taker(std::string_view rest) : rest_(rest) {}
  bool Take(uint64_t bytes, std::string_view& taken) {
    if (bytes > rest_.size()) return false;
    taken = rest_.substr(0, static_cast<size_t>(bytes));
    rest_.remove_prefix(static_cast<size_t>(bytes));
    return true;
  }
  bool is_empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

Result<PackageEntryHead> TakeHead(char kind, Taker& taker) {
  if (std::string_view("dfxlDFX").find(kind) == std::string_view::npos) {
    return DataLoss("it is of no known kind");
  }
  PackageEntryHead head;
  head.kind = static_cast<PackageKind>(kind);
  std::string_view path_bytes;
  std::string_view content_bytes;
  if (!taker.Take(kPathLengthBytes, path_bytes) ||
      !taker.Take(kContentLengthBytes, content_bytes) ||
      !taker.Take(NumberOf(path_bytes), head.path)) {
    return DataLoss("it is cut off");
  }
  head.content_bytes = NumberOf(content_bytes);
  TUNE_RETURN_IF_ERROR(CheckPath(head.path));
  return head;
}

Result<PackageEntry> TakeEntry(char kind, Taker& taker) {
  TUNE_ASSIGN_OR_RETURN(const PackageEntryHead head, TakeHead(kind, taker));
  PackageEntry entry{head.kind, head.path, {}};
  if (!taker.Take(head.content_bytes, entry.content)) return DataLoss("it is cut off");
  TUNE_RETURN_IF_ERROR(CheckContent(entry));
  return entry;
}

// Whether each entry is in a folder that came before, behind the others there.
class OrderCheck {
 public:
  bool Takes(const PackageEntry& entry) {
    const std::string_view parent = ParentOf(entry.path);
    while (open_.size() > 1 && open_.back().path != parent) open_.pop_back();
    Folder& folder = open_.back();
    if (folder.path != parent || NameOf(entry.path) <= folder.last_name) return false;
    folder.last_name = NameOf(entry.path);
    if (IsFolder(entry.kind)) open_.push_back({entry.path, {}});
    return true;
  }

 private:
  struct Folder {
    std::string_view path;
    std::string_view last_name;
  };
  std::vector<Folder> open_ = {{}};  // The root, and those on the way to the last entry.
};

}  // namespace

PackageKind KindOf(bool is_folder, unsigned mode) {
  const bool is_private = (mode & 0077) == 0;
  if (is_folder) return is_private ? PackageKind::kPrivateFolder : PackageKind::kFolder;
  if ((mode & 0100) != 0) return is_private ? PackageKind::kPrivateProgram : PackageKind::kProgram;
  return is_private ? PackageKind::kPrivateFile : PackageKind::kFile;
}

unsigned ModeOf(PackageKind kind) {
  switch (kind) {
    case PackageKind::kFolder:
    case PackageKind::kProgram:
      return 0755;
    case PackageKind::kPrivateFolder:
    case PackageKind::kPrivateProgram:
      return 0700;
    case PackageKind::kPrivateFile:
      return 0600;
    case PackageKind::kFile:
    case PackageKind::kLink:
      break;
  }
  return 0644;
}

Result<PackageEntryHead> TakeEntryHead(std::string_view& text) {
  Taker taker(text);
  std::string_view kind;
  if (!taker.Take(1, kind)) return DataLoss("it is cut off");
  TUNE_ASSIGN_OR_RETURN(const PackageEntryHead head, TakeHead(kind.front(), taker));
  text = taker.rest();
  return head;
}

std::string EncodeEntryHead(PackageKind kind, std::string_view path, uint64_t content_bytes) {
  std::string head(1, static_cast<char>(kind));
  head += LittleEndian(path.size(), kPathLengthBytes);
  head += LittleEndian(content_bytes, kContentLengthBytes);
  head += path;
  return head;
}

Result<std::vector<PackageEntry>> ParsePackage(std::string_view text) {
  Taker taker(text);
  std::string_view taken;
  if (!taker.Take(kPackageHead.size(), taken) || taken != kPackageHead) {
    return DataLoss("it is no package");
  }
  std::vector<PackageEntry> entries;
  OrderCheck order;
  while (true) {
    const std::string label = "entry " + std::to_string(entries.size() + 1);
    if (!taker.Take(1, taken)) return DataLoss(label + ": it is cut off");
    if (taken == kPackageEnd) break;
    if (entries.size() == limits::kPackageEntriesMax) return DataLoss("it has too many entries");
    Result<PackageEntry> entry = TakeEntry(taken.front(), taker);
    if (!entry.ok()) return entry.status().At(label);
    if (!order.Takes(*entry)) return DataLoss(label + ": it is not in order");
    entries.push_back(*entry);
  }
  if (!taker.is_empty()) return DataLoss("something follows its end");
  return entries;
}

}  // namespace tune
