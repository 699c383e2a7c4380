#include "models/data/image_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/plain_file.h"
#include "models/data/image_folder.h"

// The file: a Header, the pixels of all splits, their labels (int32), and a JSON text (class names,
// counts, skipped images). Integers are little-endian. The header is written last, and all of it is
// checked when it is read: so nothing waits for the disk.

namespace tune::models {
namespace {

namespace fs = std::filesystem;

// "TUNEIMG3". The number rises when the same file would be decoded to other pixels: 3 applies the
// orientation tag.
constexpr uint64_t kMagic = 0x33474D49454E5554ULL;
constexpr uint64_t kTextBytesMax = 256u << 20;
constexpr uint64_t kImageBytesMax = 1u << 30;  // Of one file to decode.
// Of files that are decoded together, or of their images as they are kept, where those are more;
// and of the images of one file that are resized together. Bounds the memory.
constexpr uint64_t kBatchBytes = 8u << 20;

struct Header {
  uint64_t magic = kMagic;
  uint64_t key = 0;
  uint64_t text_bytes = 0;
  uint64_t image_count = 0;
  uint64_t pixel_bytes = 0;
  uint64_t content_hash = 0;  // Of labels and text.
  uint64_t pixel_hash = 0;
  uint64_t header_hash = 0;  // Of the fields before.

  uint64_t OwnHash() const {
    return Xxh64(std::as_bytes(std::span(this, 1)).first(sizeof(Header) - sizeof(uint64_t)));
  }
  uint64_t LabelBytes() const { return image_count * sizeof(int32_t); }
  uint64_t FileBytes() const { return sizeof(Header) + pixel_bytes + LabelBytes() + text_bytes; }
};
static_assert(sizeof(Header) == 64);

// A whole file, mapped for reading.
class FileMap {
 public:
  static Result<std::shared_ptr<const FileMap>> Open(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return ErrnoStatus("open", path);
    struct stat info = {};
    if (::fstat(file.get(), &info) != 0) return ErrnoStatus("look at", path);
    auto map = std::make_shared<FileMap>();
    if (info.st_size == 0) return DataLoss(path + " is empty");
    map->size_ = static_cast<size_t>(info.st_size);
    void* const data = ::mmap(nullptr, map->size_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) return ErrnoStatus("map", path);
    map->data_ = data;
    return std::shared_ptr<const FileMap>(std::move(map));
  }
  FileMap() = default;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;
  ~FileMap() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// What the JSON text says.
struct Contents {
  std::vector<std::string> class_names;
  std::array<int64_t, 3> counts = {0, 0, 0};
  std::vector<SkippedImage> skipped;
};

std::string ToText(const Contents& contents, int image_size) {
  Value text = Value::MakeMap();
  text.Set("image_size", image_size);
  Value::List names(contents.class_names.begin(), contents.class_names.end());
  text.Set("class_names", std::move(names));
  text.Set("counts", Value::List(contents.counts.begin(), contents.counts.end()));
  Value::List skipped;
  for (const SkippedImage& image : contents.skipped) {
    skipped.push_back(Value::List{image.path, image.reason});
  }
  text.Set("skipped", std::move(skipped));
  return ToJson(text);
}

Result<Contents> FromText(std::string_view text, int image_size) {
  const Status bad = DataLoss("an unknown form");
  TUNE_ASSIGN_OR_RETURN(const Value value, ParseJson(text));
  if (!value.is_map()) return bad;
  const Value* const size = value.Find("image_size");
  const Value* const names = value.Find("class_names");
  const Value* const counts = value.Find("counts");
  const Value* const skipped = value.Find("skipped");
  if (size == nullptr || !size->is_int() || size->AsInt() != image_size) return bad;
  if (names == nullptr || !names->is_list() || counts == nullptr || !counts->is_list() ||
      counts->AsList().size() != 3 || skipped == nullptr || !skipped->is_list()) {
    return bad;
  }
  Contents contents;
  for (const Value& name : names->AsList()) {
    if (!name.is_string()) return bad;
    contents.class_names.push_back(name.AsString());
  }
  for (size_t s = 0; s < 3; ++s) {
    const Value& count = counts->AsList()[s];
    if (!count.is_int() || count.AsInt() < 0 || count.AsInt() > (int64_t{1} << 40)) return bad;
    contents.counts[s] = count.AsInt();
  }
  for (const Value& entry : skipped->AsList()) {
    if (!entry.is_list() || entry.AsList().size() != 2 || !entry.AsList()[0].is_string() ||
        !entry.AsList()[1].is_string()) {
      return bad;
    }
    contents.skipped.push_back({entry.AsList()[0].AsString(), entry.AsList()[1].AsString()});
  }
  return contents;
}

uint64_t HashOf(uint64_t content_hash, uint64_t pixel_hash) {
  return Xxh64("tune image cache", content_hash ^ pixel_hash);
}

// The hash of labels and text of a cache of the same images that has left out nothing.
uint64_t ContentHashWithoutSkipped(std::string_view label_bytes, Contents contents,
                                   int image_size) {
  contents.skipped.clear();
  return Xxh64(std::string(label_bytes) + ToText(contents, image_size));
}

// The cache at `path` if it is whole and made for `key`.
Result<Dataset> OpenCache(const std::string& path, uint64_t key, int image_size) {
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const FileMap> map, FileMap::Open(path));
  const std::span<const std::byte> bytes = map->bytes();
  const Status damaged = DataLoss(path + " is damaged");
  Header header;
  if (bytes.size() < sizeof header) return damaged;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t image_bytes = static_cast<uint64_t>(image_size) * image_size * 3;
  if (header.magic != kMagic || header.header_hash != header.OwnHash() || header.key != key ||
      header.text_bytes > kTextBytesMax || header.image_count > bytes.size() ||
      header.pixel_bytes != header.image_count * image_bytes ||
      bytes.size() != header.FileBytes()) {
    return damaged;
  }
  const auto pixels = bytes.subspan(sizeof(Header), header.pixel_bytes);
  const auto content = bytes.subspan(sizeof(Header) + header.pixel_bytes);
  if (Xxh64(content) != header.content_hash || Xxh64(pixels) != header.pixel_hash) return damaged;

  const std::string_view text(reinterpret_cast<const char*>(content.data()) + header.LabelBytes(),
                              header.text_bytes);
  const Result<Contents> contents = FromText(text, image_size);
  if (!contents.ok()) return damaged;
  auto labels = std::make_shared<std::pair<std::shared_ptr<const FileMap>, std::vector<int32_t>>>();
  labels->first = map;
  labels->second.resize(header.image_count);
  std::memcpy(labels->second.data(), content.data(), header.LabelBytes());

  Dataset dataset;
  dataset.image_size = image_size;
  dataset.class_names = contents->class_names;
  dataset.skipped = contents->skipped;
  size_t at = 0;
  for (size_t s = 0; s < 3; ++s) {
    const size_t count = static_cast<size_t>(contents->counts[s]);
    if (count > header.image_count - at) return damaged;
    dataset.splits[s].labels = std::span(labels->second).subspan(at, count);
    dataset.splits[s].pixels = {reinterpret_cast<const uint8_t*>(pixels.data()) + at * image_bytes,
                                count * image_bytes};
    at += count;
  }
  if (at != header.image_count) return damaged;
  for (const int32_t label : labels->second) {
    if (label < 0 || label >= dataset.class_count()) return damaged;
  }
  const std::string_view label_bytes(reinterpret_cast<const char*>(content.data()),
                                     header.LabelBytes());
  dataset.hash =
      HashOf(ContentHashWithoutSkipped(label_bytes, *contents, image_size), header.pixel_hash);
  dataset.hash_with_skipped = HashOf(header.content_hash, header.pixel_hash);
  dataset.storage = std::move(labels);
  return dataset;
}

uint64_t ImageBytes(const LoadOptions& options) {
  return static_cast<uint64_t>(options.image_size) * static_cast<uint64_t>(options.image_size) * 3;
}

struct DecodedFile {
  std::vector<uint8_t> pixels;  // (size, size, 3)
  // In the place of pixels, as they were in the file, where it has several: thousands of small ones
  // in the wanted size are too much to hold.
  std::vector<RgbImage> many;
  std::string error;  // What is wrong with the image.
  Status unread;      // Why the file was not read, which says nothing of the image.
};

// A disk that fails, too many open files, a file that is gone again: left out for that, the image
// would be missing from the cache for good.
Status Unread(const Status& why) {
  const bool is_gone = why.code() == StatusCode::kNotFound;
  return Status(is_gone ? StatusCode::kUnavailable : why.code(),
                "data: " + why.message() + "; it is not left out for that: try again, or take it " +
                    "out of the folder if it stays so");
}

DecodedFile DecodeFile(const ImageFile& file, const LoadOptions& options) {
  DecodedFile decoded;
  if (file.bytes > kImageBytesMax) {
    decoded.error = std::to_string(file.bytes) + " bytes, at most " +
                    std::to_string(kImageBytesMax) + " are expected";
    return decoded;
  }
  const Result<std::string> bytes =
      ReadFile((fs::path(options.folder) / file.path).string(), kImageBytesMax);
  if (!bytes.ok()) {
    decoded.unread = Unread(bytes.status());
    return decoded;
  }
  Result<std::vector<RgbImage>> images =
      options.decoder(std::span(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()));
  if (!images.ok()) {
    decoded.error = images.status().message();
    return decoded;
  }
  if (images->size() > 1) {
    decoded.many = *std::move(images);
    return decoded;
  }
  decoded.pixels.resize(ImageBytes(options));
  ResizeAndCrop(images->front(), options.image_size, decoded.pixels);
  return decoded;
}

// Does work(0) .. work(count - 1), in so many threads, or as many as can be had. Throws
// std::bad_alloc where one did.
template <class Work>
void InThreads(size_t count, int threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> is_memory_short = false;
  const auto run = [&] {
    try {
      for (size_t i = next++; i < count; i = next++) work(i);
    } catch (const std::bad_alloc&) {
      is_memory_short = true;  // For the caller: no thread may end by an exception.
    }
  };
  std::vector<std::jthread> others;
  const size_t thread_count = std::min(static_cast<size_t>(threads), count);
  try {
    for (size_t t = 1; t < thread_count; ++t) others.emplace_back(run);
  } catch (const std::system_error&) {  // The system gives no more.
  }
  run();
  others.clear();  // Joins.
  if (is_memory_short) throw std::bad_alloc();
}

std::vector<DecodedFile> DecodeBatch(std::span<const ImageFile> files, const LoadOptions& options) {
  std::vector<DecodedFile> decoded(files.size());
  InThreads(files.size(), options.threads,
            [&](size_t i) { decoded[i] = DecodeFile(files[i], options); });
  return decoded;
}

// A split's files, cut into what is decoded together.
std::vector<std::span<const ImageFile>> BatchesOf(std::span<const ImageFile> files,
                                                  uint64_t image_bytes) {
  std::vector<std::span<const ImageFile>> batches;
  for (size_t begin = 0, end = 0; begin < files.size(); begin = end) {
    for (uint64_t bytes = 0; end < files.size() && bytes < kBatchBytes; ++end) {
      bytes += std::max(files[end].bytes, image_bytes);
    }
    batches.push_back(files.subspan(begin, end - begin));
  }
  return batches;
}

// Resizes and writes as many at a time as are held together.
Status AppendMany(int fd, const std::string& path, std::span<const RgbImage> images,
                  const LoadOptions& options) {
  const size_t image_bytes = ImageBytes(options);
  const size_t at_a_time = std::max<size_t>(1, kBatchBytes / image_bytes);
  std::vector<uint8_t> pixels(image_bytes * std::min(at_a_time, images.size()));
  for (size_t begin = 0; begin < images.size(); begin += at_a_time) {
    const size_t count = std::min(at_a_time, images.size() - begin);
    InThreads(count, options.threads, [&](size_t i) {
      ResizeAndCrop(images[begin + i], options.image_size,
                    std::span(pixels).subspan(i * image_bytes, image_bytes));
    });
    const auto written = std::as_bytes(std::span(pixels)).first(count * image_bytes);
    TUNE_RETURN_IF_ERROR(WriteAll(fd, written, path));
  }
  return OkStatus();
}

// Writes the pixels of a split behind what `fd` already has.
Status AppendSplit(int fd, const std::string& path, const ImageFolder& found, Split split,
                   const LoadOptions& options, Contents& contents, std::vector<int32_t>& labels) {
  std::vector<int64_t> class_counts(found.class_names.size(), 0);
  std::vector<SkippedImage> class_skipped(found.class_names.size());  // The last one of each.
  const auto batches = BatchesOf(found.splits[static_cast<size_t>(split)], ImageBytes(options));
  std::future<std::vector<DecodedFile>> next;
  const auto begin_decoding = [&](size_t b) {
    if (b < batches.size()) {
      // Where no thread can be had, when it is asked for.
      next = std::async(std::launch::async | std::launch::deferred, DecodeBatch, batches[b],
                        std::cref(options));
    }
  };
  begin_decoding(0);
  for (size_t b = 0; b < batches.size(); ++b) {
    const std::vector<DecodedFile> decoded = next.get();
    begin_decoding(b + 1);  // While these are written.
    for (size_t i = 0; i < decoded.size(); ++i) {
      const ImageFile& file = batches[b][i];
      TUNE_RETURN_IF_ERROR(decoded[i].unread);
      if (!decoded[i].error.empty()) {
        contents.skipped.push_back({file.path, decoded[i].error});
        class_skipped[static_cast<size_t>(file.label)] = contents.skipped.back();
        continue;
      }
      const size_t count = std::max<size_t>(1, decoded[i].many.size());
      labels.insert(labels.end(), count, file.label);
      class_counts[static_cast<size_t>(file.label)] += static_cast<int64_t>(count);
      contents.counts[static_cast<size_t>(split)] += static_cast<int64_t>(count);
      TUNE_RETURN_IF_ERROR(WriteAll(fd, std::as_bytes(std::span(decoded[i].pixels)), path));
      TUNE_RETURN_IF_ERROR(AppendMany(fd, path, decoded[i].many, options));
    }
  }
  for (size_t label = 0; label < class_counts.size(); ++label) {
    if (class_counts[label] > 0) continue;
    const SkippedImage& last = class_skipped[label];
    return InvalidArgument("data: no image of class '" + found.class_names[label] + "' in " +
                           options.folder + "/" + std::string(SplitName(split)) +
                           "/ can be read; the last one tried was " + last.path + ": " +
                           last.reason);
  }
  return OkStatus();
}

// Decodes everything into `path`.
Status BuildCache(const ImageFolder& found, const LoadOptions& options, uint64_t key,
                  const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus("create", path);
  if (::lseek(file.get(), sizeof(Header), SEEK_SET) < 0) return ErrnoStatus("write", path);

  Contents contents;
  contents.class_names = found.class_names;
  std::vector<int32_t> labels;
  for (const Split split : kSplits) {
    TUNE_RETURN_IF_ERROR(AppendSplit(file.get(), path, found, split, options, contents, labels));
  }

  Header header;
  header.key = key;
  header.image_count = labels.size();
  header.pixel_bytes = labels.size() * static_cast<uint64_t>(options.image_size) *
                       static_cast<uint64_t>(options.image_size) * 3;
  const std::string text = ToText(contents, options.image_size);
  header.text_bytes = text.size();
  std::string content(reinterpret_cast<const char*>(labels.data()), header.LabelBytes());
  content += text;
  header.content_hash = Xxh64(content);
  TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(content)), path));
  TUNE_ASSIGN_OR_RETURN(const std::shared_ptr<const FileMap> map, FileMap::Open(path));
  header.pixel_hash = Xxh64(map->bytes().subspan(sizeof(Header), header.pixel_bytes));
  header.header_hash = header.OwnHash();
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return ErrnoStatus("write", path);
  return WriteAll(file.get(), std::as_bytes(std::span(&header, 1)), path);
}

// Removes earlier caches of the same folder and size, and what was left of those whose process
// died while it made them: who makes one has the lock, as the caller has.
void RemoveOutdated(const fs::path& folder, const std::string& prefix, const std::string& keep) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    // The size has its end there: 32 is no beginning of 320.
    const bool is_ours = name.starts_with(prefix + "-") &&
                         (name.ends_with(".images") || name.ends_with(".images.tmp"));
    if (is_ours && name != keep) {
      std::error_code ignored;
      fs::remove(it->path(), ignored);
    }
  }
}

// Creates the folder if need be and waits for its lock, which ends with the descriptor.
Result<FileDescriptor> LockFolder(const std::string& folder, const std::string& prefix) {
  TUNE_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string path = (fs::path(folder) / (prefix + ".lock")).string();
  FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.is_open()) return ErrnoStatus("create", path);
  while (::flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus("lock", path);
  }
  return lock;
}

// The dataset of these images, from a cache or into one.
Result<Dataset> LoadFound(const ImageFolder& found, const LoadOptions& options) {
  const uint64_t key = Xxh64(std::to_string(options.image_size), found.ListHash());
  std::error_code error;
  const fs::path absolute = fs::canonical(options.folder, error);
  const std::string prefix =
      HashToHex(Xxh64(absolute.string())).substr(0, 8) + "-" + std::to_string(options.image_size);
  const std::string name = prefix + "-" + HashToHex(key) + ".images";
  for (const std::string& folder : options.cache_folders) {
    Result<Dataset> cached = OpenCache((fs::path(folder) / name).string(), key, options.image_size);
    if (cached.ok()) return cached;
  }
  if (!options.decoder) {
    return FailedPrecondition("data: the images of " + options.folder + " are not decoded yet at " +
                              std::to_string(options.image_size) + " pixels");
  }
  Status cannot;  // Be made in the last folder that was tried.
  for (const std::string& folder : options.cache_folders) {
    const Result<FileDescriptor> lock = LockFolder(folder, prefix);
    if (!lock.ok()) {
      cannot = lock.status();
      continue;
    }
    const std::string path = (fs::path(folder) / name).string();
    Result<Dataset> made_meanwhile = OpenCache(path, key, options.image_size);
    if (made_meanwhile.ok()) return made_meanwhile;
    const std::string temporary = path + ".tmp";
    if (Status built = BuildCache(found, options, key, temporary); !built.ok()) {
      ::unlink(temporary.c_str());
      if (built.code() != StatusCode::kResourceExhausted) return built;
      cannot = built;  // The disk is full; the next folder may be on another.
      continue;
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoStatus("rename", temporary);
    RemoveOutdated(folder, prefix, name);
    return OpenCache(path, key, options.image_size);
  }
  return cannot;
}

}  // namespace

std::vector<std::string> CacheFolders(const std::string& folder, const std::string& fallback) {
  std::vector<std::string> folders = {(fs::path(folder) / ".tune-cache").string()};
  if (!fallback.empty()) folders.push_back(fallback);
  return folders;
}

Result<Dataset> LoadImages(const LoadOptions& options) {
  TUNE_CHECK(options.image_size > 0 && options.threads > 0 && !options.cache_folders.empty());
  TUNE_ASSIGN_OR_RETURN(const ImageFolder found, FindImages(options.folder));
  TUNE_ASSIGN_OR_RETURN(Dataset dataset, LoadFound(found, options));
  dataset.skipped.insert(dataset.skipped.begin(), found.left_out.begin(), found.left_out.end());
  dataset.folder_hash = found.ListHash();
  return dataset;
}

}  // namespace tune::models
