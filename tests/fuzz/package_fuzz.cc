// libFuzzer target: any bytes at all may be read as a package; what is accepted is the one text of
// its entries, and each of them stays within the folder, below no link.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/package/package_format.h"

namespace {

void CheckPlace(const tune::PackageEntry& entry, const std::set<std::string_view>& folders) {
  const std::string within = "/" + std::string(entry.path) + "/";
  TUNE_CHECK(within.find("//") == std::string::npos && within.find("/./") == std::string::npos &&
             within.find("/../") == std::string::npos && within.find('\0') == std::string::npos);
  const size_t slash = entry.path.rfind('/');
  TUNE_CHECK(slash == std::string_view::npos || folders.contains(entry.path.substr(0, slash)));
}

std::string Package(const std::vector<tune::PackageEntry>& entries) {
  std::string text(tune::kPackageHead);
  for (const auto& [kind, path, content] : entries) {
    text += tune::EncodeEntryHead(kind, path, content.size());
    text += content;
  }
  return text.append(tune::kPackageEnd);
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  using Kind = PackageKind;
  return {
      {Package({}), Package({{Kind::kFile, "a", "content"}, {Kind::kProgram, "b.sh", "#!/bin/sh"}}),
       Package({{Kind::kFolder, "d", ""}, {Kind::kLink, "d/e", "../f"}, {Kind::kFile, "f", ""}}),
       Package({{Kind::kPrivateFolder, "d", ""},
                {Kind::kPrivateFile, "d/e", "f"},
                {Kind::kPrivateProgram, "d/g", ""}})},
      50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = tune::ParsePackage(text);
  if (!entries.ok()) return 0;
  std::set<std::string_view> paths;
  std::set<std::string_view> folders;
  for (const tune::PackageEntry& entry : *entries) {
    CheckPlace(entry, folders);
    TUNE_CHECK(paths.insert(entry.path).second);
    if (tune::IsFolder(entry.kind)) folders.insert(entry.path);
  }
  TUNE_CHECK(Package(*entries) == text);
  return 0;
}
