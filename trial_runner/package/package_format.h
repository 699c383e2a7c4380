// A folder as one text: the same bytes for the same content, wherever and whenever it is packed, so
// that their SHA-256 names the content.
//
//   "tune-package 1\n"
//   for each entry: kind (1 byte: d folder, f file, x executable file, l symbolic link; D, F and X:
//                   one on which other users have no rights),
//                   bytes of its path (4, little-endian), bytes of its content (8), path, content
//   "e"
//
// A link's content is what it points to, wherever that is; a folder has none. Paths are relative to
// the folder; an entry comes after the folder that it is in, and names within one folder rise.
// Owners, times and other rights are not kept.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tune {

enum class PackageKind : char {
  kFolder = 'd',
  kFile = 'f',
  kProgram = 'x',
  kLink = 'l',
  kPrivateFolder = 'D',
  kPrivateFile = 'F',
  kPrivateProgram = 'X',
};
inline bool IsFolder(PackageKind kind) {
  return kind == PackageKind::kFolder || kind == PackageKind::kPrivateFolder;
}
// The kind of a folder or file with these rights, and the rights that it gets where it is unpacked.
PackageKind KindOf(bool is_folder, unsigned mode);
unsigned ModeOf(PackageKind kind);

// What comes before the entries, before an entry's content, and after all.
inline constexpr std::string_view kPackageHead = "tune-package 1\n";
std::string EncodeEntryHead(PackageKind kind, std::string_view path, uint64_t content_bytes);
inline constexpr std::string_view kPackageEnd = "e";

// An entry's head as it stands at the front of `text`, which is taken off. An error as of
// ParsePackage; the order is not looked at.
struct PackageEntryHead {
  PackageKind kind = PackageKind::kFile;
  std::string_view path;
  uint64_t content_bytes = 0;
};
Result<PackageEntryHead> TakeEntryHead(std::string_view& text);

struct PackageEntry {
  PackageKind kind = PackageKind::kFile;
  std::string_view path;  // Both are parts of the text.
  std::string_view content;
};

// Any bytes are safe to read. An error (kDataLoss) names the entry and what is wrong with it; what
// is accepted is the one text of its entries, and none of them lies outside of the folder or below
// a link.
Result<std::vector<PackageEntry>> ParsePackage(std::string_view text);

}  // namespace tune
