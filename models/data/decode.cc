#include "models/data/decode.h"

#include <new>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <optional>
#include <string>
#include <utility>

#include "models/data/gif.h"
#include "models/data/image_header.h"
#include "models/data/pnm.h"

namespace tune::models {
namespace {

bool LooksLikeJpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

// Walks the markers (ITU-T T.81, annex B) until the end-of-image one.
bool JpegIsComplete(std::span<const uint8_t> bytes) {
  size_t at = 2;
  while (at + 1 < bytes.size()) {
    if (bytes[at] != 0xFF) {  // Entropy-coded data, or bytes between segments.
      ++at;
      continue;
    }
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xFF) {  // Fill byte.
      ++at;
      continue;
    }
    at += 2;
    if (marker == 0xD9) return true;
    const bool alone = marker == 0x00 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    if (alone) continue;
    if (at + 1 >= bytes.size()) return false;
    const size_t length = static_cast<size_t>(bytes[at]) << 8 | bytes[at + 1];
    at += length < 2 ? 2 : length;
  }
  return false;
}

// An image that could not be decoded for want of memory is not a bad one: throws std::bad_alloc if
// there is no room for what a large one needs. OpenCV tells the two apart only at times.
void CheckThatMemoryIsLeft() {
  constexpr size_t kDecodingBytes = 64u << 20;
  ::operator delete(::operator new(kDecodingBytes));
}

Status Unreadable() {
  CheckThatMemoryIsLeft();
  return DataLoss("not an image that can be read");
}

}  // namespace

Result<std::vector<RgbImage>> DecodeImage(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return DataLoss("an empty file");
  if (LooksLikePnm(bytes)) return ReadPnm(bytes);
  if (LooksLikeGif(bytes)) {
    TUNE_ASSIGN_OR_RETURN(RgbImage image, ReadGif(bytes));
    return std::vector<RgbImage>{std::move(image)};
  }
  if (LooksLikeJpeg(bytes) && !JpegIsComplete(bytes)) return DataLoss("truncated JPEG");
  if (const std::optional<ImageSize> size = SizeInHeader(bytes)) {
    const bool is_too_large = size->width > kImagePixelsMax || size->height > kImagePixelsMax ||
                              size->width * size->height > kImagePixelsMax;
    if (is_too_large) {
      return DataLoss("an image of " + std::to_string(size->width) + " x " +
                      std::to_string(size->height) + " pixels, expected at most " +
                      std::to_string(kImagePixelsMax) + " in all");
    }
  }
  try {
    const cv::Mat data(1, static_cast<int>(bytes.size()), CV_8UC1,
                       const_cast<uint8_t*>(bytes.data()));  // NOLINT: OpenCV does not write to it.
    const cv::Mat bgr = cv::imdecode(data, cv::IMREAD_COLOR);
    if (bgr.empty()) return Unreadable();
    std::vector<RgbImage> images(1);
    RgbImage& image = images.front();
    image.width = bgr.cols;
    image.height = bgr.rows;
    image.pixels.resize(static_cast<size_t>(bgr.cols) * bgr.rows * 3);
    uint8_t* to = image.pixels.data();
    for (int y = 0; y < bgr.rows; ++y) {
      const uint8_t* row = bgr.ptr<uint8_t>(y);
      for (int x = 0; x < bgr.cols; ++x, row += 3) {
        *to++ = row[2];
        *to++ = row[1];
        *to++ = row[0];
      }
    }
    return images;
  } catch (const cv::Exception& error) {
    if (error.code == cv::Error::StsNoMem) throw std::bad_alloc();
    return Unreadable();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return Unreadable();
  }
}

}  // namespace tune::models
