// libFuzzer: any bytes at all may be read as a package; what is accepted is the one text of its
// entries, and each of them stays within the folder, below no link.
//   clang++ -fsanitize=fuzzer,address: target package_fuzz of a build with clang and
//   -DTUNE_FUZZ=ON.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "core/check.h"
#include "trial_runner/package/package_format.h"

namespace {

void CheckPlace(const tune::PackageEntry& entry, const std::set<std::string_view>& folders) {
  const std::string within = "/" + std::string(entry.path) + "/";
  TUNE_CHECK(within.find("//") == std::string::npos && within.find("/./") == std::string::npos &&
             within.find("/../") == std::string::npos && within.find('\0') == std::string::npos);
  const size_t slash = entry.path.rfind('/');
  TUNE_CHECK(slash == std::string_view::npos || folders.contains(entry.path.substr(0, slash)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = tune::ParsePackage(text);
  if (!entries.ok()) return 0;
  std::string again(tune::kPackageHead);
  std::set<std::string_view> paths;
  std::set<std::string_view> folders;
  for (const tune::PackageEntry& entry : *entries) {
    CheckPlace(entry, folders);
    TUNE_CHECK(paths.insert(entry.path).second);
    if (entry.kind == tune::PackageKind::kFolder) folders.insert(entry.path);
    again += tune::EncodeEntryHead(entry.kind, entry.path, entry.content.size());
    again += entry.content;
  }
  again += tune::kPackageEnd;
  TUNE_CHECK(again == text);
  return 0;
}
