// Which files of a data folder are its images.

#include "models/data/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/models/training/image_samples.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FindError(const TempFolder& folder) {
  const Result<ImageFolder> found = FindImages(folder.path());
  if (found.ok()) return "";
  // kNotFound: another machine may have it.
  EXPECT_THAT(found.status().code(),
              ::testing::AnyOf(StatusCode::kInvalidArgument, StatusCode::kNotFound));
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
  EXPECT_EQ(FindImages(empty / "nowhere").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindImages(empty.path()).status().code(), StatusCode::kNotFound);

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

TEST(ImageFolder, TakesImagesOfEveryExtensionThatCanBeDecoded) {
  const TempFolder folder;
  WriteClassFolders(folder);
  for (const char* name : {"a.jfif", "b.TIFF", "c.tif", "d.gif", "e.jpe", "f.jp2", "g.pnm"}) {
    WriteText(folder / (std::string("training/apple/") + name), "x");
  }
  const Result<ImageFolder> found = FindImages(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->splits[0].size(), 11U);
  EXPECT_TRUE(found->left_out.empty());
}

TEST(ImageFolder, NamesWhatItLeavesOutOfClassFolders) {
  const TempFolder folder;
  WriteClassFolders(folder);
  WriteText(folder / "training/apple/a.heic", "x");
  WriteText(folder / "training/apple/ripe/deep/1.jpg", "x");
  WriteText(folder / "training/apple/ripe/0.jpg", "x");
  WriteText(folder / "training/apple/ripe/.hidden/0.jpg", "x");
  WriteText(folder / "training/labels.csv", "x");
  fs::create_symlink(folder / "nowhere.jpg", folder / "validation/pear/7.jpg");
  fs::create_directories(folder / "validation/pear/8.jpg");
  ASSERT_EQ(::mkfifo((folder / "evaluation/pear/9.jpg").c_str(), 0600), 0);
  const Result<ImageFolder> found = FindImages(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->splits[0].size(), 4U);
  EXPECT_EQ(DescribeSkipped(found->left_out, 1),
            "6 files are left out: training/apple/a.heic and 1 more (not the extension of an "
            "image); training/apple/ripe/0.jpg and 1 more (in a nested folder); "
            "validation/pear/7.jpg (a link to nothing); evaluation/pear/9.jpg (not a file)");
}

TEST(ImageFolder, ALinkToNothingInTheRawFormIsLeftOutAndNamed) {
  const TempFolder folder;
  for (const char* split : {"training", "validation", "evaluation"}) {
    for (const char* name : {"/0_1.jpg", "/1_1.jpg"})
      WriteText(folder / (split + std::string(name)), "x");
  }
  fs::create_symlink(folder / "nowhere.jpg", folder / "training/1_2.jpg");
  WriteText(folder / "training/1_3.heic", "x");
  const Result<ImageFolder> found = FindImages(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->splits[0].size(), 2U);
  EXPECT_EQ(DescribeSkipped(found->left_out, 3),
            "2 files are left out: training/1_2.jpg (a link to nothing); training/1_3.heic (not "
            "the extension of an image)");
}

TEST(ImageFolder, SaysWhatAClassWithoutImagesHasInstead) {
  const TempFolder folder;
  WriteClassFolders(folder);
  for (const char* name : {"0", "1"}) {
    const std::string base = folder / (std::string("evaluation/pear/") + name);
    fs::rename(base + ".jpg", base + ".heic");
  }
  EXPECT_THAT(FindError(folder),
              HasSubstr("evaluation/pear has no images (2 files are left out: "
                        "evaluation/pear/0.heic, evaluation/pear/1.heic (not the extension"));
}

}  // namespace
}  // namespace tune::models
