// Bytes of image files to pixels.

#include "models/data/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "core/random.h"
#include "models/data/gif.h"
#include "models/data/image_header.h"
#include "models/data/pnm.h"
#include "tests/models/training/image_samples.h"

namespace tune::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const uint8_t> BytesOf(const std::string& file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

TEST(DecodeImage, ReadsTheUsualFormatsAsRgb) {
  for (const char* extension : {".jpg", ".png", ".bmp", ".webp", ".ppm", ".tiff", ".jp2"}) {
    const std::string file = Encoded(extension, 200);
    const auto images = DecodeImage(BytesOf(file));
    ASSERT_TRUE(images.ok()) << extension << ": " << images.status().message();
    ASSERT_EQ(images->size(), 1U);
    const RgbImage& image = images->front();
    EXPECT_EQ(image.width, 48);
    EXPECT_EQ(image.height, 40);
    EXPECT_NEAR(image.pixels[0], 55, 12) << extension;   // Red: 255 - level.
    EXPECT_NEAR(image.pixels[2], 200, 12) << extension;  // Blue: level.
  }
}

TEST(DecodeImage, TheSizeInTheHeaderIsThatOfTheImage) {
  for (const char* extension : {".jpg", ".png", ".bmp", ".webp", ".tiff", ".jp2"}) {
    const auto size = SizeInHeader(BytesOf(Encoded(extension, 200)));
    ASSERT_TRUE(size) << extension;
    EXPECT_EQ(size->width, 48) << extension;
    EXPECT_EQ(size->height, 40) << extension;
  }
  EXPECT_FALSE(SizeInHeader(BytesOf("P6 48 40 255\n")));
}

// A few bytes that stand for a thousand million pixels.
TEST(DecodeImage, RefusesAnImageWhoseHeaderSaysMoreThanThereIsRoomFor) {
  std::string png = Encoded(".png", 200);
  png.replace(16, 8, std::string("\0\0\x7d\0\0\0\x7d\0", 8));  // 32,000 x 32,000.
  EXPECT_EQ(DecodeImage(BytesOf(png)).status().message(),
            "an image of 32000 x 32000 pixels, expected at most 268435456 in all");
  std::string bmp = Encoded(".bmp", 200);
  bmp.replace(18, 8, std::string("\xff\xff\xff\x7f\xff\xff\xff\x7f", 8));
  EXPECT_THAT(DecodeImage(BytesOf(bmp)).status().message(), HasSubstr("an image of 2147483647 x"));
  std::string jpeg = Encoded(".jpg", 200);
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xf0\xff\xf0");
  EXPECT_THAT(DecodeImage(BytesOf(jpeg)).status().message(),
              HasSubstr("an image of 65520 x 65520"));
}

// Whatever a file is called: OpenCV goes by what is in it.
TEST(DecodeImage, RefusesSuchAnImageOfTheRarerFormatsToo) {
  const std::string files[] = {
      "P3 32000 32000 255",
      "P1\n# drawn by hand\n32000\n#\n32000\n",
      "P4 32000 32000\n",
      "PF\n32000 32000\n-1.0\n",
      "P7\nWIDTH 32000\nHEIGHT 32000\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n",
      "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 32000 +X 32000\n",
      std::string("\x59\xa6\x6a\x95\0\0\x7d\0\0\0\x7d\0\0\0\0\x18", 16)};
  for (const std::string& file : files) {
    EXPECT_EQ(DecodeImage(BytesOf(file)).status().message(),
              "an image of 32000 x 32000 pixels, expected at most 268435456 in all")
        << file;
  }
  EXPECT_EQ(SizeInHeader(BytesOf("P2\n# a comment\n48 40\n255\n"))->width, 48);
  EXPECT_EQ(SizeInHeader(BytesOf("P2\n# a comment\n48 40\n255\n"))->height, 40);
  for (const char* const cut : {"P3", "P3 48", "P3 48 x", "P7\nWIDTH 3", "#?RADIANCE\n-Y +X 3"}) {
    EXPECT_FALSE(SizeInHeader(BytesOf(cut))) << cut;
  }
}

TEST(DecodeImage, RefusesAJpegCutAtAnyPlace) {
  const std::string file = Encoded(".jpg", 200);
  for (size_t size = 0; size + 1 < file.size(); size += 7) {
    const auto images = DecodeImage(std::span(reinterpret_cast<const uint8_t*>(file.data()), size));
    EXPECT_FALSE(images.ok()) << size << " of " << file.size() << " bytes";
  }
}

// A JPEG whose EXIF block (APP1, a little-endian TIFF directory of one entry) has an orientation.
std::string WithOrientation(const std::string& jpeg, int orientation) {
  std::string exif(
      "\xFF\xE1\x00\x22"
      "Exif\0\0"
      "II\x2A\0\x08\0\0\0"
      "\x01\0"
      "\x12\x01\x03\0\x01\0\0\0"
      "\0\0\0\0"
      "\0\0\0\0",
      36);
  exif[28] = static_cast<char>(orientation);
  return jpeg.substr(0, 2) + exif + jpeg.substr(2);
}

// The levels of red at the top left, top right and bottom left of an image whose stored pixels have
// 255, 155 and 55 there.
TEST(DecodeImage, TurnsAPhotographAsItsOrientationSays) {
  cv::Mat stored(40, 80, CV_8UC3, cv::Scalar(0, 0, 0));
  const cv::Rect quarters[] = {{0, 0, 40, 20}, {40, 0, 40, 20}, {0, 20, 40, 20}};
  for (int i = 0; i < 3; ++i) stored(quarters[i]).setTo(cv::Scalar(0, 0, 255 - 100 * i));
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(cv::imencode(".jpg", stored, bytes));
  const std::string jpeg(bytes.begin(), bytes.end());
  // As EXIF 2.3 numbers them: 6 is a camera held upright with its right side down.
  const std::vector<std::array<int, 3>> expected = {{255, 155, 55}, {155, 255, 0},  {0, 55, 155},
                                                    {55, 0, 255},   {255, 55, 155}, {55, 255, 0},
                                                    {0, 155, 55},   {155, 0, 255}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const auto images = DecodeImage(BytesOf(WithOrientation(jpeg, orientation)));
    ASSERT_TRUE(images.ok()) << images.status().message();
    const RgbImage& image = images->front();
    EXPECT_EQ(image.width, orientation <= 4 ? 80 : 40) << orientation;
    const auto red = [&image](int x, int y) { return image.pixels[3 * (y * image.width + x)]; };
    const auto& levels = expected[static_cast<size_t>(orientation - 1)];
    EXPECT_NEAR(red(2, 2), levels[0], 12) << orientation;
    EXPECT_NEAR(red(image.width - 3, 2), levels[1], 12) << orientation;
    EXPECT_NEAR(red(2, image.height - 3), levels[2], 12) << orientation;
  }
}

// A GIF of one frame and four colours: 10, 20, 30 for the first, 40, 50, 60 for the next and so on.
// Its codes are cleared so often that none is longer than three bits.
std::string Gif(int width, int height, const std::vector<int>& indices, bool interlaced = false) {
  std::string file = "GIF89a";
  const auto append = [&file](std::initializer_list<int> bytes) {
    for (const int byte : bytes) file.push_back(static_cast<char>(byte));
  };
  append({width, 0, height, 0, 0x81, 0, 0});
  for (int i = 1; i <= 12; ++i) append({10 * i});
  append({0x21, 0xFE, 2, 'h', 'i', 0});  // A comment.
  append({0x2C, 0, 0, 0, 0, width, 0, height, 0, interlaced ? 0x40 : 0, 2});
  std::vector<int> codes;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i % 2 == 0) codes.push_back(4);
    codes.push_back(indices[i]);
  }
  codes.push_back(5);
  std::string packed((codes.size() * 3 + 7) / 8, '\0');
  for (size_t bit = 0; bit < codes.size() * 3; ++bit) {
    if ((codes[bit / 3] >> bit % 3 & 1) != 0) packed[bit / 8] |= static_cast<char>(1 << bit % 8);
  }
  append({static_cast<int>(packed.size())});
  file += packed;
  append({0, 0x3B});
  return file;
}

std::vector<int> Reds(const RgbImage& image) {
  std::vector<int> reds;
  for (size_t i = 0; i < image.pixels.size(); i += 3) reds.push_back(image.pixels[i]);
  return reds;
}

TEST(Gif, ReadsRowsInBothOrders) {
  const auto images = DecodeImage(BytesOf(Gif(3, 2, {0, 1, 2, 3, 0, 1})));
  ASSERT_TRUE(images.ok()) << images.status().message();
  EXPECT_THAT(Reds(images->front()), ElementsAre(10, 40, 70, 100, 10, 40));
  EXPECT_EQ(images->front().pixels[2], 30);
  // Of five rows the first and the fifth come first, then the third, then the others.
  const Result<RgbImage> rows = ReadGif(BytesOf(Gif(1, 5, {0, 1, 2, 3, 0}, true)));
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_THAT(Reds(*rows), ElementsAre(10, 100, 70, 10, 40));
}

// 14 by 11 pixels, as PIL writes them: index (x / 3 + y * y / 7) % 5.
TEST(Gif, ReadsCodesThatGrow) {
  constexpr std::string_view kHex =
      "4749463837610e000b00820000ff000000ff000000ffffff000a141e0000000000000000002c00000000"
      "0e000b000008460001080c405080c10108091010088060008302100e50c8d02144890a2d1e4c4811c045"
      "8e0b0706c0d8b1614101154f46e4f8716249820a439a7cb851e34a972163a6a4b93220003b";
  std::string file;
  for (size_t i = 0; i < kHex.size(); i += 2) {
    file.push_back(static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16)));
  }
  const Result<RgbImage> image = ReadGif(BytesOf(file));
  ASSERT_TRUE(image.ok()) << image.status().message();
  ASSERT_EQ(image->width, 14);
  ASSERT_EQ(image->height, 11);
  constexpr std::array<int, 5> kReds = {255, 0, 0, 255, 10};
  const std::vector<int> reds = Reds(*image);
  for (int i = 0; i < 14 * 11; ++i) {
    const int x = i % 14, y = i / 14;
    EXPECT_EQ(reds[static_cast<size_t>(i)], kReds[static_cast<size_t>((x / 3 + y * y / 7) % 5)])
        << x << ", " << y;
  }
  for (size_t size = 0; size + 2 < file.size(); ++size) {
    EXPECT_FALSE(ReadGif(BytesOf(file.substr(0, size))).ok()) << size;
  }
}

TEST(Gif, NeverCrashesOnDamagedFiles) {
  const std::string file = Gif(9, 7, std::vector<int>(63, 2), true);
  for (uint64_t round = 0; round < 5000; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = file.substr(0, random.NextBelow(file.size() + 1));
    for (uint64_t i = random.NextBelow(4); i > 0 && !damaged.empty(); --i) {
      damaged[random.NextBelow(damaged.size())] = static_cast<char>(random.NextBelow(256));
    }
    const Result<RgbImage> image = ReadGif(BytesOf(damaged));
    if (!image.ok()) continue;
    EXPECT_EQ(image->pixels.size(), static_cast<size_t>(image->width) * image->height * 3);
  }
}

TEST(Pnm, ReadsSeveralImagesOfOneFile) {
  const std::string file = std::string("P5\n2 1\n255\n") + "AB" + "P5 # grey\n1 2 255\n" + "CD";
  const auto images = ReadPnm(BytesOf(file));
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

}  // namespace
}  // namespace tune::models
