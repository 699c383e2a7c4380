#include "models/data/image_header.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace tune::models {
namespace {

// Numbers at places of a text; what is beyond its end is 0.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  uint64_t Big(size_t at, size_t count) const {
    uint64_t number = 0;
    for (size_t i = 0; i < count; ++i) number = number << 8 | At(at + i);
    return number;
  }
  uint64_t Little(size_t at, size_t count) const {
    uint64_t number = 0;
    for (size_t i = count; i-- > 0;) number = number << 8 | At(at + i);
    return number;
  }
  char Char(size_t at) const { return static_cast<char>(At(at)); }
  bool Has(size_t at, std::string_view text) const {
    if (at > bytes_.size() || bytes_.size() - at < text.size()) return false;
    return std::equal(text.begin(), text.end(), bytes_.begin() + static_cast<ptrdiff_t>(at),
                      [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; });
  }

 private:
  uint64_t At(size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }

  std::span<const uint8_t> bytes_;
};

ImageSize Size(uint64_t width, uint64_t height) {
  return {static_cast<int64_t>(width), static_cast<int64_t>(height)};
}

// The largest of its frames' headers (ITU-T T.81, B.2.2), up to the first scan.
std::optional<ImageSize> JpegSize(const Bytes& bytes) {
  std::optional<ImageSize> largest;
  for (size_t at = 2; at + 9 < bytes.size();) {
    if (bytes.Big(at, 1) != 0xFF) {
      ++at;
      continue;
    }
    const uint64_t marker = bytes.Big(at + 1, 1);
    if (marker == 0xDA) break;
    const bool is_alone =
        marker == 0xFF || marker == 0 || marker == 1 || (marker >= 0xD0 && marker <= 0xD9);
    if (is_alone) {
      at += marker == 0xFF ? 1 : 2;
      continue;
    }
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame) {
      const ImageSize size = Size(bytes.Big(at + 7, 2), bytes.Big(at + 5, 2));
      if (!largest || size.width * size.height > largest->width * largest->height) largest = size;
    }
    at += 2 + static_cast<size_t>(std::max<uint64_t>(2, bytes.Big(at + 2, 2)));
  }
  return largest;
}

std::optional<ImageSize> BmpSize(const Bytes& bytes) {
  constexpr uint64_t kOldHeaderBytes = 12;
  if (bytes.Little(14, 4) == kOldHeaderBytes) return Size(bytes.Little(18, 2), bytes.Little(20, 2));
  const auto side = [&](size_t at) {
    return std::abs(static_cast<int64_t>(static_cast<int32_t>(bytes.Little(at, 4))));
  };
  return ImageSize{side(18), side(22)};
}

std::optional<ImageSize> WebpSize(const Bytes& bytes) {
  if (bytes.Has(12, "VP8 "))
    return Size(bytes.Little(26, 2) & 0x3FFF, bytes.Little(28, 2) & 0x3FFF);
  if (bytes.Has(12, "VP8L")) {
    const uint64_t bits = bytes.Little(21, 4);
    return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
  }
  if (bytes.Has(12, "VP8X")) return Size(bytes.Little(24, 3) + 1, bytes.Little(27, 3) + 1);
  return std::nullopt;
}

// Of the first directory: ImageWidth is tag 256, ImageLength 257 (TIFF 6.0, and BigTIFF).
std::optional<ImageSize> TiffSize(const Bytes& bytes) {
  const bool is_big_endian = bytes.Has(0, "MM");
  const auto number = [&](size_t at, size_t count) {
    return is_big_endian ? bytes.Big(at, count) : bytes.Little(at, count);
  };
  constexpr uint64_t kBigTiff = 43;
  const bool is_big = number(2, 2) == kBigTiff;
  const size_t entry_bytes = is_big ? 20 : 12;
  const size_t value_at = is_big ? 12 : 8;
  const uint64_t directory = is_big ? number(8, 8) : number(4, 4);
  if (directory >= bytes.size()) return std::nullopt;
  const auto begin = static_cast<size_t>(directory);
  const size_t count_bytes = is_big ? 8 : 2;
  const uint64_t count = std::min<uint64_t>(number(begin, count_bytes), bytes.size() / entry_bytes);
  uint64_t width = 0;
  uint64_t height = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t at = begin + count_bytes + static_cast<size_t>(i) * entry_bytes;
    constexpr uint64_t kShort = 3;
    const uint64_t tag = number(at, 2);
    const uint64_t value = number(at + value_at, number(at + 2, 2) == kShort ? 2 : 4);
    if (tag == 256) width = value;
    if (tag == 257) height = value;
  }
  if (width == 0 || height == 0) return std::nullopt;
  return Size(width, height);
}

// The file's header box, or the codestream's SIZ segment (ITU-T T.800).
std::optional<ImageSize> Jpeg2000Size(const Bytes& bytes) {
  if (bytes.Has(0, "\xFF\x4F\xFF\x51")) {
    const uint64_t width = bytes.Big(8, 4) - std::min(bytes.Big(8, 4), bytes.Big(16, 4));
    const uint64_t height = bytes.Big(12, 4) - std::min(bytes.Big(12, 4), bytes.Big(20, 4));
    return Size(width, height);
  }
  constexpr size_t kLookedThrough = 4096;
  for (size_t at = 12; at < std::min(bytes.size(), kLookedThrough); ++at) {
    if (bytes.Has(at, "ihdr")) return Size(bytes.Big(at + 8, 4), bytes.Big(at + 4, 4));
  }
  return std::nullopt;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A decimal number of a text at `at`, which moves behind it; none where there is no digit. More
// than any side is a side that is too large.
std::optional<int64_t> NumberAt(const Bytes& bytes, size_t& at) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t number = 0;
  const size_t begin = at;
  for (; bytes.Char(at) >= '0' && bytes.Char(at) <= '9'; ++at) {
    number = std::min(kMost, number * 10 + (bytes.Char(at) - '0'));
  }
  if (at == begin) return std::nullopt;
  return number;
}

// The Netpbm formats and PFM: two numbers behind the magic, with comments between.
std::optional<ImageSize> NetpbmSize(const Bytes& bytes) {
  size_t at = 2;
  std::array<int64_t, 2> sides = {};
  for (int64_t& side : sides) {
    for (; IsSpace(bytes.Char(at)) || bytes.Char(at) == '#'; ++at) {
      if (bytes.Char(at) != '#') continue;
      while (at < bytes.size() && bytes.Char(at) != '\n') ++at;
    }
    const std::optional<int64_t> number = NumberAt(bytes, at);
    if (!number) return std::nullopt;
    side = *number;
  }
  return ImageSize{sides[0], sides[1]};
}

// The number behind the first `key` of a header in lines, of which the first few are looked at.
std::optional<int64_t> NumberBehind(const Bytes& bytes, std::string_view key) {
  constexpr size_t kLookedThrough = 65536;
  for (size_t at = 0; at < std::min(bytes.size(), kLookedThrough); ++at) {
    if (!bytes.Has(at, key)) continue;
    at += key.size();
    while (IsSpace(bytes.Char(at))) ++at;
    return NumberAt(bytes, at);
  }
  return std::nullopt;
}

// PAM ("WIDTH 4\nHEIGHT 3\n") and Radiance ("-Y 3 +X 4\n").
std::optional<ImageSize> SizeInLines(const Bytes& bytes, std::string_view width,
                                     std::string_view height) {
  const std::optional<int64_t> columns = NumberBehind(bytes, width);
  const std::optional<int64_t> rows = NumberBehind(bytes, height);
  if (!columns || !rows) return std::nullopt;
  return ImageSize{*columns, *rows};
}

}  // namespace

std::optional<ImageSize> SizeInHeader(std::span<const uint8_t> all) {
  const Bytes bytes(all);
  if (bytes.Has(0, "\xFF\xD8")) return JpegSize(bytes);
  if (bytes.Has(0, "\x89PNG\r\n\x1A\n")) return Size(bytes.Big(16, 4), bytes.Big(20, 4));
  if (bytes.Has(0, "BM")) return BmpSize(bytes);
  if (bytes.Has(0, "RIFF") && bytes.Has(8, "WEBP")) return WebpSize(bytes);
  if (bytes.Has(0, "II") || bytes.Has(0, "MM")) return TiffSize(bytes);
  if (bytes.Has(0, "P7")) return SizeInLines(bytes, "\nWIDTH", "\nHEIGHT");
  if (bytes.Has(0, "#?")) return SizeInLines(bytes, "+X", "-Y");
  if (bytes.Has(0, "\x59\xA6\x6A\x95")) return Size(bytes.Big(4, 4), bytes.Big(8, 4));  // Sun.
  constexpr std::string_view kNetpbm = "1234Ff";
  const bool is_netpbm = bytes.Has(0, "P") && kNetpbm.find(bytes.Char(1)) != kNetpbm.npos;
  if (is_netpbm) return NetpbmSize(bytes);
  const bool is_jpeg_2000 = bytes.Has(0, "\xFF\x4F\xFF\x51") || bytes.Has(4, "jP  ");
  return is_jpeg_2000 ? Jpeg2000Size(bytes) : std::nullopt;
}

}  // namespace tune::models
