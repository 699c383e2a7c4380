// libFuzzer target: any bytes at all may be an image's; a size that is found is no negative one.
// GIF and PNM images, which we decode ourselves, have the pixels that they say.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/check.h"
#include "models/data/gif.h"
#include "models/data/image_header.h"
#include "models/data/pnm.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

template <size_t kBytes>
std::string Bytes(const char (&text)[kBytes]) {
  return std::string(text, kBytes - 1);
}

void CheckPixels(const tune::models::RgbImage& image) {
  TUNE_CHECK(image.width > 0 && image.height > 0 &&
             image.pixels.size() ==
                 size_t{3} * static_cast<size_t>(image.width) * static_cast<size_t>(image.height));
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  return {
      {Bytes("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x30\0\0\0\x28\x08\x02\0\0\0"),
       Bytes(
           "\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\0\x28\0\x30\x03\x01\x22\0\xff\xda\0\x02"),
       Bytes("BM\x36\x10\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x30\0\0\0\x28\0\0\0\x01\0\x18\0"),
       Bytes("RIFF\x24\0\0\0WEBPVP8L\x11\0\0\0\x2f\x2f\xc0\x09\0\0\0"),
       Bytes("RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x2f\0\0\x27\0\0"),
       Bytes("II\x2a\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x30\0\0\0\x01\x01\x03\0\x01\0\0\0\x28"
             "\0\0\0"),
       Bytes("\0\0\0\x0cjP  \x0d\x0a\x87\x0a\0\0\0\x16ihdr\0\0\0\x28\0\0\0\x30\0\x03\x07\x07\0\0"),
       Bytes("GIF89a\x02\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,"
             "\0\0\0\0\x02\0\x01\0\0\x02\x02\x44\x01\0;"),
       Bytes("P3\n# c\n48 40\n255\n1 2 3"), Bytes("P7\nWIDTH 48\nHEIGHT 40\nENDHDR\n"),
       Bytes("#?RADIANCE\n\n-Y 40 +X 48\n"), Bytes("P5 2 1 255\nab"), Bytes("P6\n1 1\n255\nabc")},
      100'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tune::models;
  const std::span<const uint8_t> bytes(data, size);
  if (const auto found = SizeInHeader(bytes)) {
    TUNE_CHECK(found->width >= 0 && found->height >= 0);
  }
  // A few bytes may say that there are many pixels: these are not decoded here.
  constexpr size_t kSmall = 4096;
  if (size > kSmall) return 0;
  if (LooksLikePnm(bytes)) {
    const auto images = ReadPnm(bytes);
    if (images.ok()) {
      for (const RgbImage& image : *images) CheckPixels(image);
    }
  }
  const bool is_small_gif = LooksLikeGif(bytes) && size > 9 && data[7] == 0 && data[9] == 0;
  if (is_small_gif) {
    const auto image = ReadGif(bytes);
    if (image.ok()) CheckPixels(*image);
  }
  return 0;
}
