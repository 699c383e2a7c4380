// Folder, decoding and cache.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <thread>

#include "core/random.h"
#include "models/data/decode.h"
#include "models/data/idx.h"
#include "models/data/image_cache.h"
#include "models/data/image_folder.h"
#include "models/data/load_data.h"
#include "models/data/pnm.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An encoded picture in one colour with a gradient; `extension` as OpenCV takes it.
std::string Encoded(const std::string& extension, int level, int width = 48, int height = 40) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image.at<cv::Vec3b>(y, x) = cv::Vec3b(static_cast<uint8_t>(level), static_cast<uint8_t>(x),
                                            static_cast<uint8_t>(255 - level));
    }
  }
  std::vector<uint8_t> bytes;
  TUNE_CHECK(cv::imencode(extension, image, bytes));
  return std::string(bytes.begin(), bytes.end());
}

// Two classes in folders, two images each in every split.
void WriteClassFolders(const TempFolder& folder) {
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (int label = 0; label < 2; ++label) {
      for (int i = 0; i < 2; ++i) {
        WriteText(folder / (std::string(split) + "/" + (label == 0 ? "apple" : "pear") + "/" +
                            std::to_string(i) + ".jpg"),
                  Encoded(".jpg", 100 * label + 10 * i));
      }
    }
  }
}

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

std::string FindError(const TempFolder& folder) {
  const Result<ImageFolder> found = FindImages(folder.path());
  if (found.ok()) return "";
  EXPECT_EQ(found.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(found.status().message(), ::testing::Not(HasSubstr("\n")));
  return found.status().message();
}

TEST(ImageFolder, FindsOneFolderAClassInTheOrderOfNames) {
  const TempFolder folder;
  WriteClassFolders(folder);
  WriteText(folder / "training/apple/notes.txt", "left alone");
  WriteText(folder / "training/apple/.hidden.jpg", "left alone");
  const Result<ImageFolder> found = FindImages(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(found->class_names, ElementsAre("apple", "pear"));
  ASSERT_EQ(found->splits[0].size(), 4U);
  EXPECT_EQ(found->splits[0][2].path, "training/pear/0.jpg");
  EXPECT_EQ(found->splits[0][2].label, 1);
}

TEST(ImageFolder, GivesElevenNumberedClassesTheNamesOfFood11InBothForms) {
  const TempFolder raw;
  const TempFolder folders;
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (int label = 0; label < 11; ++label) {
      WriteText(raw / (std::string(split) + "/" + std::to_string(label) + "_0.jpg"), "x");
      const std::string name = (label < 10 ? "class_0" : "class_") + std::to_string(label);
      WriteText(folders / (std::string(split) + "/" + name + "/0.jpg"), "x");
    }
  }
  for (const TempFolder* folder : {&raw, &folders}) {
    const Result<ImageFolder> found = FindImages(folder->path());
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(found->class_names.size(), 11U);
    EXPECT_EQ(found->class_names[0], "Bread");
    EXPECT_EQ(found->class_names[10], "Vegetable/Fruit");
    for (const ImageFile& file : found->splits[0]) {
      if (file.path.find("10") != std::string::npos) {
        EXPECT_EQ(file.label, 10) << file.path;
      }
    }
  }
}

TEST(ImageFolder, SaysWhatIsMissing) {
  const TempFolder empty;
  EXPECT_THAT(FindError(empty), HasSubstr("is empty"));
  EXPECT_THAT(FindImages(empty / "nowhere").status().message(), HasSubstr("no folder"));

  const TempFolder split;
  WriteClassFolders(split);
  fs::remove_all(split / "validation");
  EXPECT_THAT(FindError(split), HasSubstr("has no folder validation/"));
  fs::create_directories(split / "validation");
  EXPECT_THAT(FindError(split), HasSubstr("validation has no images"));

  const TempFolder class_folder;
  WriteClassFolders(class_folder);
  fs::remove_all(class_folder / "evaluation/pear");
  EXPECT_THAT(FindError(class_folder), HasSubstr("evaluation/ has no image of class 'pear'"));
  fs::create_directories(class_folder / "evaluation/pear");
  EXPECT_THAT(FindError(class_folder), HasSubstr("evaluation/pear has no images"));
  WriteText(class_folder / "evaluation/pear/0.jpg", "x");
  WriteText(class_folder / "evaluation/plum/0.jpg", "x");
  EXPECT_THAT(FindError(class_folder), HasSubstr("the class 'plum' which training/ lacks"));
}

TEST(ImageFolder, RefusesOtherLayouts) {
  const TempFolder stray;
  WriteClassFolders(stray);
  WriteText(stray / "training/loose.jpg", "x");
  EXPECT_THAT(FindError(stray), HasSubstr("unsupported layout (read 'loose.jpg')"));

  const TempFolder mixed;
  WriteClassFolders(mixed);
  WriteText(mixed / "training/0_1.jpg", "x");
  EXPECT_THAT(FindError(mixed), HasSubstr("images beside class folders"));

  const TempFolder gap;
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (const char* name : {"/0_1.jpg", "/2_1.jpg"})
      WriteText(gap / (split + std::string(name)), "x");
  }
  EXPECT_THAT(FindError(gap), HasSubstr("no image of class 1"));

  const TempFolder one;
  for (const char* split : {"training", "validation", "evaluation"}) {
    WriteText(one / (split + std::string("/only/1.jpg")), "x");
  }
  EXPECT_THAT(FindError(one), HasSubstr("needs two or more"));
}

TEST(DecodeImage, ReadsTheUsualFormatsAsRgb) {
  for (const char* extension : {".jpg", ".png", ".bmp", ".webp", ".ppm"}) {
    const std::string file = Encoded(extension, 200);
    const auto images =
        DecodeImage(std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size()));
    ASSERT_TRUE(images.ok()) << extension << ": " << images.status().message();
    ASSERT_EQ(images->size(), 1U);
    const RgbImage& image = images->front();
    EXPECT_EQ(image.width, 48);
    EXPECT_EQ(image.height, 40);
    EXPECT_NEAR(image.pixels[0], 55, 12) << extension;   // Red: 255 - level.
    EXPECT_NEAR(image.pixels[2], 200, 12) << extension;  // Blue: level.
  }
}

TEST(DecodeImage, RefusesAJpegCutAtAnyPlace) {
  const std::string file = Encoded(".jpg", 200);
  for (size_t size = 0; size + 1 < file.size(); size += 7) {
    const auto images = DecodeImage(std::span(reinterpret_cast<const uint8_t*>(file.data()), size));
    EXPECT_FALSE(images.ok()) << size << " of " << file.size() << " bytes";
  }
}

TEST(Pnm, ReadsSeveralImagesOfOneFile) {
  const std::string file = std::string("P5\n2 1\n255\n") + "AB" + "P5 # grey\n1 2 255\n" + "CD";
  const auto images =
      ReadPnm(std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size()));
  ASSERT_TRUE(images.ok()) << images.status().message();
  ASSERT_EQ(images->size(), 2U);
  EXPECT_THAT((*images)[0].pixels, ElementsAre('A', 'A', 'A', 'B', 'B', 'B'));
  EXPECT_EQ((*images)[1].height, 2);
  const auto cut =
      ReadPnm(std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size() - 1));
  EXPECT_THAT(cut.status().message(), HasSubstr("truncated"));
}

TEST(Pnm, NeverCrashesOnDamagedFiles) {
  const std::string file = std::string("P6\n3 2\n255\n") + std::string(18, 'x') + "P5\n1 1\n255\ny";
  for (uint64_t round = 0; round < 3000; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = file.substr(0, random.NextBelow(file.size() + 1));
    for (uint64_t i = random.NextBelow(4); i > 0 && !damaged.empty(); --i) {
      damaged[random.NextBelow(damaged.size())] = static_cast<char>(random.NextBelow(256));
    }
    const auto images =
        ReadPnm(std::span(reinterpret_cast<const uint8_t*>(damaged.data()), damaged.size()));
    if (!images.ok()) continue;
    for (const RgbImage& image : *images) {
      EXPECT_EQ(image.pixels.size(), static_cast<size_t>(image.width) * image.height * 3);
    }
  }
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

}  // namespace
}  // namespace tune::models
