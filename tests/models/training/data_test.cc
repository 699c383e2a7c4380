// The cache of decoded images, and what else makes a data set.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <new>
#include <sstream>
#include <thread>

#include "core/hash.h"
#include "core/random.h"
#include "models/data/decode.h"
#include "models/data/idx.h"
#include "models/data/image_cache.h"
#include "models/data/load_data.h"
#include "tests/models/training/image_samples.h"
#include "tests/models/training/temp_folder.h"
#include "tests/sanitized.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LoadOptions OptionsFor(const TempFolder& folder, int threads = 1) {
  LoadOptions options;
  options.folder = folder.path();
  options.image_size = 32;
  options.cache_folders = CacheFolders(folder.path(), "");
  options.threads = threads;
  options.decoder = DecodeImage;
  return options;
}

std::string CacheFile(const TempFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder / ".tune-cache")) {
    if (entry.path().extension() == ".images") return entry.path().string();
  }
  return "";
}

TEST(ImageCache, DecodesAFolderOnceAndServesTheSameBytesAfter) {
  const TempFolder folder;
  WriteClassFolders(folder);
  std::atomic<int> decoded = 0;
  LoadOptions options = OptionsFor(folder, /*threads=*/2);
  options.decoder = [&](std::span<const uint8_t> bytes) {
    ++decoded;
    return DecodeImage(bytes);
  };
  const Result<Dataset> first = LoadImages(options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(decoded, 12);
  EXPECT_EQ(first->split(Split::kTraining).count(), 4);
  EXPECT_THAT(std::vector<int32_t>(first->splits[0].labels.begin(), first->splits[0].labels.end()),
              ElementsAre(0, 0, 1, 1));
  EXPECT_NEAR(first->image(Split::kTraining, 2)[2], 100, 12);  // Blue of pear/0: its level.

  options.decoder = nullptr;  // From now on it must not be needed.
  const Result<Dataset> second = LoadImages(options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->hash, first->hash);
  EXPECT_TRUE(std::equal(first->splits[2].pixels.begin(), first->splits[2].pixels.end(),
                         second->splits[2].pixels.begin()));
}

TEST(ImageCache, WithoutADecoderSaysThatTheFolderIsNotDecodedYet) {
  const TempFolder folder;
  WriteClassFolders(folder);
  LoadOptions options = OptionsFor(folder);
  options.decoder = nullptr;
  EXPECT_EQ(LoadImages(options).status().code(), StatusCode::kFailedPrecondition);
}

TEST(ImageCache, DecodesOnceWhenManyStartAtOnce) {
  const TempFolder folder;
  WriteClassFolders(folder);
  std::atomic<int> decoded = 0;
  LoadOptions options = OptionsFor(folder);
  options.decoder = [&](std::span<const uint8_t> bytes) {
    ++decoded;
    return DecodeImage(bytes);
  };
  std::atomic<int> succeeded = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { succeeded += LoadImages(options).ok() ? 1 : 0; });
    }
  }
  EXPECT_EQ(succeeded, 4);
  EXPECT_EQ(decoded, 12);
}

TEST(ImageCache, NamesAndSkipsBrokenImages) {
  const TempFolder folder;
  WriteClassFolders(folder);
  const std::string whole = Encoded(".jpg", 30);
  WriteText(folder / "training/apple/0.jpg", whole.substr(0, whole.size() / 2));
  WriteText(folder / "training/pear/1.jpg", "no image at all");
  WriteText(folder / "validation/pear/0.jpg", "");
  const Result<Dataset> dataset = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  ASSERT_EQ(dataset->skipped.size(), 3U);
  EXPECT_EQ(dataset->skipped[0].path, "training/apple/0.jpg");
  EXPECT_EQ(dataset->skipped[0].reason, "truncated JPEG");
  EXPECT_EQ(dataset->skipped[1].reason, "not an image that can be read");
  EXPECT_EQ(dataset->skipped[2].reason, "an empty file");
  EXPECT_EQ(dataset->split(Split::kTraining).count(), 2);

  // The cached copy remembers them.
  const Result<Dataset> again = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->skipped.size(), 3U);
}

TEST(ImageCache, NamesWhatTheFolderHasBesideImagesWithoutDecodingAgain) {
  const TempFolder folder;
  WriteClassFolders(folder);
  const Result<Dataset> before = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(before.ok());
  WriteText(folder / "training/apple/notes.txt", "x");
  LoadOptions options = OptionsFor(folder);
  options.decoder = nullptr;
  const Result<Dataset> after = LoadImages(options);
  ASSERT_TRUE(after.ok()) << after.status().message();
  ASSERT_EQ(after->skipped.size(), 1U);
  EXPECT_EQ(after->skipped[0].path, "training/apple/notes.txt");
  EXPECT_EQ(after->hash, before->hash);
}

TEST(ImageCache, AFileThatCannotBeReadDoesNotChangeTheHashOfWhatIsTrainedOn) {
  const TempFolder folder;
  WriteClassFolders(folder);
  const Result<Dataset> before = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->hash_with_skipped, before->hash) << "as in earlier versions";
  WriteText(folder / "training/apple/broken.jpg", "not a picture");
  const Result<Dataset> with_broken = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(with_broken.ok()) << with_broken.status().message();
  EXPECT_EQ(with_broken->skipped.size(), 1U);
  EXPECT_EQ(with_broken->hash, before->hash);
  EXPECT_NE(with_broken->hash_with_skipped, before->hash);
  fs::remove(folder / "training/apple/0.jpg");
  const Result<Dataset> without_image = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(without_image.ok()) << without_image.status().message();
  EXPECT_NE(without_image->hash, before->hash);
}

// Such a cache was made when orientation tags were not applied yet.
TEST(ImageCache, IsMadeAnewWhenItWasDecodedByEarlierRules) {
  const TempFolder folder;
  WriteClassFolders(folder);
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  const std::string path = CacheFile(folder);
  std::string bytes = ReadText(path);
  bytes.replace(0, 8, "TUNEIMG2");
  const uint64_t header_hash = Xxh64(std::string_view(bytes).substr(0, 56));
  bytes.replace(56, 8, reinterpret_cast<const char*>(&header_hash), 8);
  fs::remove(path);
  WriteText(path, bytes);
  LoadOptions options = OptionsFor(folder);
  options.decoder = nullptr;
  EXPECT_EQ(LoadImages(options).status().code(), StatusCode::kFailedPrecondition);
  options.decoder = DecodeImage;
  EXPECT_TRUE(LoadImages(options).ok());
  EXPECT_NE(ReadText(path), bytes);
}

// Left out then, it would stay out: the cache is made once.
TEST(ImageCache, LeavesNoImageOutBecauseItsFileCouldNotBeRead) {
  const TempFolder folder;
  WriteClassFolders(folder);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  LoadOptions options = OptionsFor(folder);
  options.decoder = [&before](std::span<const uint8_t> bytes) {
    const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);  // What is open stays so.
    return DecodeImage(bytes);
  };
  const Result<Dataset> without_files = LoadImages(options);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(without_files.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(without_files.status().message(),
              HasSubstr("training/apple/1.jpg: Too many open files; it is not left out"));

  const std::string gone = folder / "validation/apple/1.jpg";
  options.decoder = [&gone](std::span<const uint8_t> bytes) {
    fs::remove(gone);
    return DecodeImage(bytes);
  };
  const Result<Dataset> changing = LoadImages(options);
  EXPECT_EQ(changing.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(changing.status().message(), HasSubstr("validation/apple/1.jpg: No such file"));
  EXPECT_EQ(CacheFile(folder), "");

  WriteText(gone, Encoded(".jpg", 10));
  const Result<Dataset> whole = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_TRUE(whole->skipped.empty());
  EXPECT_EQ(whole->split(Split::kValidation).count(), 4);
}

TEST(ImageCache, FailsWhenAClassLosesAllItsImages) {
  const TempFolder folder;
  WriteClassFolders(folder);
  const std::string whole = Encoded(".jpg", 30);
  WriteText(folder / "training/pear/0.jpg", whole.substr(0, whole.size() / 2));
  WriteText(folder / "training/pear/1.jpg", whole.substr(0, whole.size() - 2));
  const Result<Dataset> dataset = LoadImages(OptionsFor(folder));
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(dataset.status().message(), HasSubstr("no image of class 'pear'"));
  EXPECT_THAT(dataset.status().message(), HasSubstr("training/pear/1.jpg: truncated JPEG"));
  EXPECT_EQ(CacheFile(folder), "");  // Nothing half-made stays.
}

TEST(ImageCache, IsMadeAnewWhenTheFolderChangesAndTheOldOneGoes) {
  const TempFolder folder;
  WriteClassFolders(folder);
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  const std::string before = CacheFile(folder);
  WriteText(folder / "training/pear/2.jpg", Encoded(".jpg", 120));
  const Result<Dataset> dataset = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ(dataset->split(Split::kTraining).count(), 5);
  EXPECT_FALSE(fs::exists(before));
}

// 11 images of 512 pixels are a batch, however small their files are.
TEST(ImageCache, HoldsAsManyDecodedImagesAsAreABatchNotAsManyAsSmallFilesAre) {
  const TempFolder folder;
  WriteClassFolders(folder);
  for (int i = 2; i < 40; ++i) {
    WriteText(folder / ("training/pear/" + std::to_string(i) + ".jpg"), Encoded(".jpg", i));
  }
  LoadOptions options = OptionsFor(folder);
  options.image_size = 512;
  std::vector<uintmax_t> written;  // When an image was decoded.
  options.decoder = [&](std::span<const uint8_t> bytes) {
    for (const auto& entry : fs::directory_iterator(folder / ".tune-cache")) {
      if (entry.path().extension() == ".tmp") written.push_back(fs::file_size(entry.path()));
    }
    return DecodeImage(bytes);
  };
  const Result<Dataset> dataset = LoadImages(options);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  ASSERT_EQ(written.size(), 50U);
  // While the third batch is decoded, the first one has been written.
  EXPECT_GE(written[22], 11U * 512 * 512 * 3);
}

int64_t DataBytes() {
  std::istringstream status(ReadText("/proc/self/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmData:")) return std::stoll(line.substr(7)) << 10;
  }
  return 0;
}

// As import-idx makes them: all images of a class in one file.
TEST(ImageCache, ResizesTheManyImagesOfOneFileAFewAtATime) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes more memory than any limit here";
  const TempFolder folder;
  constexpr int kCount = 400;  // 300 MiB in the wanted size.
  for (const std::string split : {"training", "validation", "evaluation"}) {
    for (const std::string name : {"/coat", "/shirt"}) {
      std::string images;
      const bool is_large = split == "training" && name == "/coat";
      for (int i = 0; i < (is_large ? kCount : 2); ++i) {
        images += "P5\n2 2\n255\n" + std::string(4, static_cast<char>(i % 200));
      }
      WriteText(folder / (split + name + "/images.pgm"), images);
    }
  }
  LoadOptions options = OptionsFor(folder);
  options.image_size = 512;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit some = {.rlim_cur = static_cast<rlim_t>(DataBytes() + (128 << 20)),
                       .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &some), 0);
  Result<Dataset> dataset = ResourceExhausted("no memory is left");
  try {
    dataset = LoadImages(options);
  } catch (const std::bad_alloc&) {
  }
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  ASSERT_EQ(dataset->split(Split::kTraining).count(), kCount + 2);
  for (const int i : {0, 1, 9, 10, 11, 199, kCount - 1}) {
    EXPECT_EQ(dataset->image(Split::kTraining, i)[0], i % 200) << i;
    EXPECT_EQ(dataset->splits[0].labels[static_cast<size_t>(i)], 0);
  }
}

// Their stacks are memory too, and processes have limits on their number.
TEST(ImageCache, IsMadeWithAsManyThreadsAsCanBeHad) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes more memory than any limit here";
  const TempFolder folder;
  WriteClassFolders(folder);
  for (int i = 2; i < 64; ++i) {
    WriteText(folder / ("training/pear/" + std::to_string(i) + ".jpg"), Encoded(".jpg", i));
  }
  const LoadOptions options = OptionsFor(folder, /*threads=*/64);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit few_stacks = {.rlim_cur = static_cast<rlim_t>(DataBytes() + (21 << 20)),
                             .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &few_stacks), 0);
  const Result<Dataset> dataset = LoadImages(options);
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_TRUE(dataset->skipped.empty());
  EXPECT_EQ(dataset->split(Split::kTraining).count(), 66);
}

// By a process that was killed: the same list of images may never come again.
TEST(ImageCache, OfAnotherFolderContentGoesThatWasLeftHalfMade) {
  const TempFolder folder;
  WriteClassFolders(folder);
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  const std::string left = CacheFile(folder) + ".tmp";
  const std::string of_folder = fs::path(left).filename().string().substr(0, 8);
  const std::string of_other_size = folder / (".tune-cache/" + of_folder + "-320-0.images.tmp");
  WriteText(left, "half of it");
  WriteText(of_other_size, "somebody makes it");
  WriteText(folder / "training/pear/2.jpg", Encoded(".jpg", 120));
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(of_other_size));
}

TEST(ImageCache, OfOneSizeLeavesThoseOfOtherSizesAlone) {
  const TempFolder folder;
  WriteClassFolders(folder);
  LoadOptions large = OptionsFor(folder);
  large.image_size = 320;  // Whose digits begin with those of 32.
  ASSERT_TRUE(LoadImages(large).ok());
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  large.decoder = nullptr;
  const Result<Dataset> again = LoadImages(large);
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST(ImageCache, IsMadeAnewWhenItIsDamaged) {
  const TempFolder folder;
  WriteClassFolders(folder);
  const Result<Dataset> whole = LoadImages(OptionsFor(folder));
  ASSERT_TRUE(whole.ok());
  const std::string path = CacheFile(folder);
  const std::string bytes = ReadText(path);
  for (uint64_t round = 0; round < 60; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = bytes;
    if (round % 3 == 0) damaged.resize(random.NextBelow(bytes.size()));
    if (round % 3 == 1)
      damaged[random.NextBelow(200)] ^= static_cast<char>(1 + random.NextBelow(255));
    if (round % 3 == 2) damaged[random.NextBelow(bytes.size())] ^= 1;
    fs::remove(path);  // The map of the whole one stays as it was.
    WriteText(path, damaged);
    const Result<Dataset> again = LoadImages(OptionsFor(folder));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->hash, whole->hash);
    EXPECT_EQ(ReadText(path), bytes);
  }
}

TEST(ImageCache, GoesToTheNextFolderWhereTheFirstCannotBeMade) {
  const TempFolder folder;
  const TempFolder fallback;
  WriteClassFolders(folder);
  WriteText(folder / ".tune-cache", "a file stands in the way");
  LoadOptions options = OptionsFor(folder);
  options.cache_folders = CacheFolders(folder.path(), fallback.path());
  ASSERT_TRUE(LoadImages(options).ok());
  options.decoder = nullptr;
  EXPECT_TRUE(LoadImages(options).ok());  // Found there again.
  options.cache_folders.pop_back();
  options.decoder = DecodeImage;
  const Result<Dataset> nowhere = LoadImages(options);
  EXPECT_THAT(nowhere.status().message(), HasSubstr(".tune-cache"));
}

TEST(ImageCache, GoesToTheNextFolderWhereTheFirstHasNoRoom) {
  const TempFolder folder;
  const TempFolder fallback;
  WriteClassFolders(folder);
  ASSERT_TRUE(LoadImages(OptionsFor(folder)).ok());
  const std::string path = CacheFile(folder);
  fs::remove(path);
  fs::create_symlink("/dev/full", path + ".tmp");  // As if no block were left.
  LoadOptions options = OptionsFor(folder);
  options.cache_folders = CacheFolders(folder.path(), fallback.path());
  const Result<Dataset> dataset = LoadImages(options);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ(CacheFile(folder), "");

  fs::create_symlink("/dev/full", path + ".tmp");
  options.cache_folders = {folder / ".tune-cache"};
  const Result<Dataset> nowhere = LoadImages(options);
  EXPECT_EQ(nowhere.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(nowhere.status().message(), HasSubstr(".tune-cache"));
}

TEST(LoadData, KnowsSyntheticAndAsksForAFolder) {
  const Result<Dataset> synthetic = LoadData("synthetic", 32, "", 1, nullptr);
  ASSERT_TRUE(synthetic.ok());
  EXPECT_EQ(synthetic->class_count(), 11);
  EXPECT_EQ(synthetic->split(Split::kTraining).count(), 352);
  EXPECT_EQ(synthetic->hash, LoadData("synthetic", 32, "", 1, nullptr)->hash);
  EXPECT_THAT(LoadData("", 32, "", 1, nullptr).status().message(), HasSubstr("FOOD11_DATA_DIR"));
}

std::string IdxImagesFile(int count, int side) {
  std::string file("\0\0\x08\x03", 4);
  for (const int extent : {count, side, side})
    file += std::string("\0\0\0", 3) + static_cast<char>(extent);
  for (int i = 0; i < count * side * side; ++i) file.push_back(static_cast<char>(i));
  return file;
}

std::string IdxLabelsFile(const std::string& labels) {
  return std::string("\0\0\x08\x01\0\0\0", 7) + static_cast<char>(labels.size()) + labels;
}

TEST(ImportIdx, NeverCrashesOnDamagedFiles) {
  const std::string file = IdxImagesFile(3, 4);
  for (uint64_t round = 0; round < 2000; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = file.substr(0, random.NextBelow(file.size() + 1));
    for (uint64_t i = random.NextBelow(3); i > 0 && !damaged.empty(); --i) {
      damaged[random.NextBelow(std::min<size_t>(damaged.size(), 16))] =
          static_cast<char>(random.NextBelow(256));
    }
    const std::span bytes(reinterpret_cast<const uint8_t*>(damaged.data()), damaged.size());
    const Result<IdxImages> images = ParseIdxImages(bytes);
    if (images.ok()) {
      for (const auto& image : images->images) {
        EXPECT_EQ(image.size(), static_cast<size_t>(images->width) * images->height);
      }
    }
    EXPECT_FALSE(ParseIdxLabels(bytes).ok() && images.ok());
  }
}

TEST(ImportIdx, MakesAFolderThatLoads) {
  const TempFolder folder;
  WriteText(folder / "ti", IdxImagesFile(8, 4));
  WriteText(folder / "tl", IdxLabelsFile(std::string("\0\1\0\1\1\0\1\0", 8)));
  WriteText(folder / "ei", IdxImagesFile(2, 4));
  WriteText(folder / "el", IdxLabelsFile(std::string("\0\1", 2)));
  IdxImport import;
  import.training_images = folder / "ti";
  import.training_labels = folder / "tl";
  import.evaluation_images = folder / "ei";
  import.evaluation_labels = folder / "el";
  import.class_names = {"coat", "shirt"};
  import.validation_every = 3;  // Images 0, 3 and 6.
  import.out = folder / "set";
  const Status imported = ImportIdx(import);
  ASSERT_TRUE(imported.ok()) << imported.message();

  LoadOptions options = OptionsFor(folder);
  options.folder = import.out;
  const Result<Dataset> dataset = LoadImages(options);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_THAT(dataset->class_names, ElementsAre("coat", "shirt"));
  EXPECT_EQ(dataset->split(Split::kTraining).count(), 5);
  EXPECT_EQ(dataset->split(Split::kValidation).count(), 3);
  EXPECT_EQ(dataset->split(Split::kEvaluation).count(), 2);

  EXPECT_THAT(ImportIdx(import).message(), HasSubstr("exists already"));
  import.out = folder / "other";
  import.training_labels = folder / "ti";
  EXPECT_THAT(ImportIdx(import).message(), HasSubstr("not an idx file of labels"));
  EXPECT_FALSE(fs::exists(import.out));
}

TEST(ImportIdx, TakesAFolderThatIsWrittenWithASlashAtItsEnd) {
  const TempFolder folder;
  WriteText(folder / "images", IdxImagesFile(4, 4));
  WriteText(folder / "labels", IdxLabelsFile(std::string("\0\1\0\1", 4)));
  IdxImport import;
  import.training_images = import.evaluation_images = folder / "images";
  import.training_labels = import.evaluation_labels = folder / "labels";
  import.class_names = {"coat", "shirt"};
  import.validation_every = 3;  // Images 0 and 3.
  import.out = folder / "set/";
  const Status imported = ImportIdx(import);
  ASSERT_TRUE(imported.ok()) << imported.message();
  EXPECT_TRUE(fs::exists(folder / "set/training/coat/images.pgm"));
  EXPECT_FALSE(fs::exists(folder / "set/.tmp"));
  EXPECT_FALSE(fs::exists(folder / "set.tmp"));
}

TEST(ImportIdx, RefusesNamesThatAreNotFoldersOfTheirOwn) {
  const TempFolder folder;
  WriteText(folder / "images", IdxImagesFile(6, 4));
  WriteText(folder / "labels", IdxLabelsFile(std::string("\0\1\2\0\1\2", 6)));
  IdxImport import;
  import.training_images = import.evaluation_images = folder / "images";
  import.training_labels = import.evaluation_labels = folder / "labels";
  import.validation_every = 2;
  import.out = folder / "set";
  const std::pair<std::string, std::string> cases[] = {
      {"coat", "twice"},        {"tops/coat", "'/'"},         {"../../coat", "begins with '.'"},
      {folder / "coat", "'/'"}, {".coat", "begins with '.'"}, {"", "empty"}};
  for (const auto& [name, why] : cases) {
    import.class_names = {"coat", "shirt", name};
    const Status imported = ImportIdx(import);
    EXPECT_EQ(imported.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(imported.message(), HasSubstr("--names: read '" + name + "'"));
    EXPECT_THAT(imported.message(), HasSubstr(why));
  }
  EXPECT_FALSE(fs::exists(import.out));
  EXPECT_FALSE(fs::exists(folder / "coat"));
  import.class_names.back() = "dress";
  EXPECT_TRUE(ImportIdx(import).ok());
}

}  // namespace
}  // namespace tune::models
