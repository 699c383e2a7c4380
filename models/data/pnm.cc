#include "models/data/pnm.h"

#include <optional>

namespace tune::models {
namespace {

constexpr int64_t kSideMax = 65535;
constexpr int64_t kPixelsMax = 1 << 28;

class PnmReader {
 public:
  explicit PnmReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool AtEnd() const { return pos_ == bytes_.size(); }

  Result<RgbImage> ReadImage() {
    if (bytes_.size() - pos_ < 2 || bytes_[pos_] != 'P' ||
        (bytes_[pos_ + 1] != '5' && bytes_[pos_ + 1] != '6')) {
      return DataLoss("not a binary PGM or PPM image");
    }
    const size_t channels = bytes_[pos_ + 1] == '5' ? 1 : 3;
    pos_ += 2;
    const std::optional<int64_t> width = ReadNumber();
    const std::optional<int64_t> height = ReadNumber();
    const std::optional<int64_t> maximum = ReadNumber();
    if (!width || !height || !maximum || *width < 1 || *height < 1 || *width > kSideMax ||
        *height > kSideMax || *width * *height > kPixelsMax) {
      return DataLoss("a damaged PNM header");
    }
    if (*maximum != 255) return DataLoss("a PNM image that has not 8 bits a sample");
    if (AtEnd()) return DataLoss("truncated PNM image");
    ++pos_;  // The single white space after the header.
    const size_t count = static_cast<size_t>(*width * *height);
    if (bytes_.size() - pos_ < count * channels) return DataLoss("truncated PNM image");
    RgbImage image;
    image.width = static_cast<int>(*width);
    image.height = static_cast<int>(*height);
    image.pixels.resize(count * 3);
    const uint8_t* from = bytes_.data() + pos_;
    for (size_t i = 0; i < count; ++i) {
      for (size_t c = 0; c < 3; ++c) {
        image.pixels[3 * i + c] = channels == 1 ? from[i] : from[3 * i + c];
      }
    }
    pos_ += count * channels;
    return image;
  }

 private:
  static bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::optional<int64_t> ReadNumber() {
    while (!AtEnd() && (IsSpace(bytes_[pos_]) || bytes_[pos_] == '#')) {
      if (bytes_[pos_] == '#') {
        while (!AtEnd() && bytes_[pos_] != '\n') ++pos_;
      } else {
        ++pos_;
      }
    }
    int64_t number = 0;
    const size_t start = pos_;
    while (!AtEnd() && bytes_[pos_] >= '0' && bytes_[pos_] <= '9') {
      number = number * 10 + (bytes_[pos_] - '0');
      if (number > kSideMax) return std::nullopt;
      ++pos_;
    }
    if (pos_ == start) return std::nullopt;
    return number;
  }

  std::span<const uint8_t> bytes_;
  size_t pos_ = 0;
};

}  // namespace

bool LooksLikePnm(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6');
}

Result<std::vector<RgbImage>> ReadPnm(std::span<const uint8_t> bytes) {
  std::vector<RgbImage> images;
  PnmReader reader(bytes);
  while (!reader.AtEnd()) {
    TUNE_ASSIGN_OR_RETURN(RgbImage image, reader.ReadImage());
    images.push_back(std::move(image));
  }
  if (images.empty()) return DataLoss("an empty file");
  return images;
}

}  // namespace tune::models
