#include "models/data/image_folder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/hash.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExpected =
    "expected training/, validation/ and evaluation/, each with <class>_<id>.jpg files or one "
    "folder a class";
constexpr int kClassNumberMax = 9999;

// One split as it lies on disk, before classes have numbers: class name to files.
using ClassFiles = std::map<std::string, std::vector<ImageFile>>;

struct SplitListing {
  bool raw = false;  // Class names are numbers out of file names.
  ClassFiles classes;
  std::vector<SkippedImage> left_out;
};

bool IsImageName(const fs::path& path) {
  static constexpr std::array<std::string_view, 16> kExtensions = {
      ".jpg", ".jpeg", ".jpe",  ".jfif", ".png", ".bmp", ".dib", ".webp",
      ".gif", ".tif",  ".tiff", ".jp2",  ".ppm", ".pgm", ".pbm", ".pnm"};
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::optional<int> ReadNumber(std::string_view digits) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// "7" of "7_123.jpg".
std::optional<int> ClassOfRawName(const std::string& name) {
  const size_t underscore = name.find('_');
  if (underscore == std::string::npos) return std::nullopt;
  return ReadNumber(std::string_view(name).substr(0, underscore));
}

// "3" of "class_03" and of "3".
std::optional<int> NumberOfFolderName(std::string_view name) {
  constexpr std::string_view kPrefix = "class_";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return ReadNumber(name);
}

Status CannotRead(const fs::path& path, const std::error_code& error) {
  return InvalidArgument("data: cannot read " + path.string() + ": " + error.message());
}

Result<std::vector<fs::directory_entry>> ListFolder(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) entries.push_back(*it);
  }
  if (error) return CannotRead(folder, error);
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return entries;
}

std::string PathBelow(const fs::path& root, const fs::path& path) {
  return path.lexically_relative(root).string();
}

// Why an entry that is no folder is not trained on, or "".
std::string WhyLeftOut(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_status status = entry.status(error);
  if (status.type() == fs::file_type::not_found) return "a link to nothing";
  if (error) return "cannot be read: " + error.message();
  if (!IsImageName(entry.path())) return "not the extension of an image";
  return fs::is_regular_file(status) ? "" : "not a file";
}

// Adds an entry that is no folder to its class, or to what is left out.
void AddFile(const fs::directory_entry& entry, const fs::path& root, const std::string& class_name,
             SplitListing& listing) {
  ImageFile file;
  file.path = PathBelow(root, entry.path());
  std::string why = WhyLeftOut(entry);
  std::error_code error;
  if (why.empty()) {
    file.bytes = entry.file_size(error);
    const auto modified = error ? fs::file_time_type() : entry.last_write_time(error);
    file.modified_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(modified.time_since_epoch()).count();
    if (error) why = "cannot be read: " + error.message();
  }
  if (why.empty()) {
    listing.classes[class_name].push_back(std::move(file));
  } else {
    listing.left_out.push_back({file.path, why});
  }
}

// Names the files of a folder below a class's. Links to folders are not followed.
void LeaveOutFolder(const fs::path& folder, const fs::path& root, SplitListing& listing) {
  std::error_code error;
  std::vector<std::string> paths;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const bool is_hidden = it->path().filename().string().starts_with('.');
    if (it->is_directory(ignored)) {
      if (is_hidden) it.disable_recursion_pending();
    } else if (!is_hidden) {
      paths.push_back(PathBelow(root, it->path()));
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) listing.left_out.push_back({path, "in a nested folder"});
  if (error) {
    listing.left_out.push_back({PathBelow(root, folder), "cannot be read: " + error.message()});
  }
}

Status ListClassFolder(const fs::path& folder, const fs::path& root, SplitListing& listing) {
  const std::string name = folder.filename().string();
  listing.classes[name];  // Also without images.
  TUNE_ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, ListFolder(folder));
  for (const fs::directory_entry& entry : entries) {
    std::error_code error;
    if (entry.is_directory(error)) {
      LeaveOutFolder(entry.path(), root, listing);
    } else {
      AddFile(entry, root, name, listing);
    }
  }
  return OkStatus();
}

// " (3 files are left out: ...)" below a folder, or "".
std::string LeftOutBelow(const std::string& folder, const SplitListing& listing) {
  constexpr size_t kNamesShown = 3;
  std::vector<SkippedImage> below;
  std::copy_if(listing.left_out.begin(), listing.left_out.end(), std::back_inserter(below),
               [&folder](const auto& file) { return file.path.starts_with(folder + "/"); });
  return below.empty() ? "" : " (" + DescribeSkipped(below, kNamesShown) + ")";
}

Result<SplitListing> ListSplit(const fs::path& root, Split split) {
  const fs::path folder = root / SplitName(split);
  TUNE_ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, ListFolder(folder));
  SplitListing listing;
  std::string stray;
  bool folders = false;
  for (const fs::directory_entry& entry : entries) {
    std::error_code error;
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(error)) {
      folders = true;
      TUNE_RETURN_IF_ERROR(ListClassFolder(entry.path(), root, listing));
      continue;
    }
    const std::optional<int> number = ClassOfRawName(name);
    if (IsImageName(entry.path()) && !number) {
      stray = name;
      continue;
    }
    AddFile(entry, root, number ? std::to_string(*number) : "", listing);
    listing.raw = listing.raw || IsImageName(entry.path());
  }
  if (!stray.empty() || (listing.raw && folders)) {
    return InvalidArgument(
        "data: " + folder.string() + ": unsupported layout (" +
        (stray.empty() ? "images beside class folders" : "read '" + stray + "'") + "); " +
        std::string(kExpected));
  }
  if (listing.classes.empty()) {
    return InvalidArgument("data: " + folder.string() + " has no images" +
                           LeftOutBelow(std::string(SplitName(split)), listing) + "; " +
                           std::string(kExpected));
  }
  return listing;
}

// The classes of a listing in their order: by number where all names are numbers, else by name.
std::vector<std::string> OrderedClasses(const ClassFiles& classes) {
  std::vector<std::string> names;
  bool numbered = true;
  for (const auto& [name, files] : classes) {
    names.push_back(name);
    numbered = numbered && NumberOfFolderName(name).has_value();
  }
  if (numbered) {
    std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return *NumberOfFolderName(a) < *NumberOfFolderName(b);
    });
  }
  return names;
}

Status CheckRawNumbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<int> number = ReadNumber(names[i]);
    if (number && *number > kClassNumberMax) {
      return InvalidArgument("data: training/" + names[i] + "_*: a class number above " +
                             std::to_string(kClassNumberMax));
    }
    if (names[i] != std::to_string(i)) {
      return InvalidArgument("data: training/ has no image of class " + std::to_string(i) + " (" +
                             std::to_string(i) + "_*.jpg) but has class " + names[i] +
                             "; classes are numbered from 0 without gaps");
    }
  }
  return OkStatus();
}

Status CheckClassesAgree(const std::vector<std::string>& names, const SplitListing& listing,
                         bool raw, Split split) {
  const std::string place = "data: " + std::string(SplitName(split)) + "/";
  if (listing.raw != raw) {
    return InvalidArgument(place + " and training/ differ in form; " + std::string(kExpected));
  }
  for (const auto& [name, files] : listing.classes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return InvalidArgument(place + " has the class '" + name + "' which training/ lacks");
    }
    if (files.empty()) {
      return InvalidArgument(place + name + " has no images" +
                             LeftOutBelow(std::string(SplitName(split)) + "/" + name, listing));
    }
  }
  for (const std::string& name : names) {
    if (!listing.classes.contains(name)) {
      return InvalidArgument(place + " has no image of class '" + name + "'");
    }
  }
  return OkStatus();
}

std::vector<std::string> DisplayNames(std::vector<std::string> names) {
  const std::span<const std::string_view> food = Food11ClassNames();
  if (names.size() != food.size()) return names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (NumberOfFolderName(names[i]) != static_cast<int>(i)) return names;
  }
  return std::vector<std::string>(food.begin(), food.end());
}

}  // namespace

uint64_t ImageFolder::ListHash() const {
  uint64_t hash = 1;
  for (const std::string& name : class_names) hash = Xxh64(name, hash);
  for (const std::vector<ImageFile>& files : splits) {
    hash = Xxh64("split", hash);
    for (const ImageFile& file : files) {
      hash = Xxh64(file.path + "\n" + std::to_string(file.label) + " " +
                       std::to_string(file.bytes) + " " + std::to_string(file.modified_ns),
                   hash);
    }
  }
  return hash;
}

Result<ImageFolder> FindImages(const std::string& folder) {
  const fs::path root(folder);
  std::error_code error;
  if (!fs::exists(root, error)) {
    return NotFound("data: no folder '" + folder + "'; " + std::string(kExpected));
  }
  if (!fs::is_directory(root, error)) {
    return InvalidArgument("data: '" + folder + "' is not a folder; " + std::string(kExpected));
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> top, ListFolder(root));
  if (top.empty()) {
    return NotFound("data: the folder '" + folder + "' is empty; " + std::string(kExpected));
  }
  for (const Split split : kSplits) {
    if (!fs::is_directory(root / SplitName(split), error)) {
      return InvalidArgument("data: '" + folder + "' has no folder " +
                             std::string(SplitName(split)) + "/; " + std::string(kExpected));
    }
  }

  ImageFolder found;
  found.folder = folder;
  std::vector<std::string> names;
  bool raw = false;
  for (const Split split : kSplits) {
    TUNE_ASSIGN_OR_RETURN(SplitListing listing, ListSplit(root, split));
    if (split == Split::kTraining) {
      raw = listing.raw;
      names = OrderedClasses(listing.classes);
      if (raw) TUNE_RETURN_IF_ERROR(CheckRawNumbers(names));
      if (names.size() < 2) {
        return InvalidArgument("data: training/ has one class, '" + names.front() +
                               "'; a classifier needs two or more");
      }
    }
    TUNE_RETURN_IF_ERROR(CheckClassesAgree(names, listing, raw, split));
    std::vector<ImageFile>& files = found.splits[static_cast<size_t>(split)];
    for (size_t label = 0; label < names.size(); ++label) {
      for (ImageFile& file : listing.classes[names[label]]) {
        file.label = static_cast<int32_t>(label);
        files.push_back(std::move(file));
      }
    }
    std::sort(files.begin(), files.end(),
              [](const ImageFile& a, const ImageFile& b) { return a.path < b.path; });
    found.left_out.insert(found.left_out.end(), listing.left_out.begin(), listing.left_out.end());
  }
  found.class_names = DisplayNames(std::move(names));
  return found;
}

}  // namespace tune::models
