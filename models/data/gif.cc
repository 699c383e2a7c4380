#include "models/data/gif.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tune::models {
namespace {

constexpr int64_t kFramePixelsMax = 1 << 28;
constexpr int kCodeBitsMax = 12;
constexpr uint8_t kExtension = 0x21;
constexpr uint8_t kImage = 0x2C;

Status Truncated() { return DataLoss("truncated GIF"); }
Status Damaged() { return DataLoss("a damaged GIF"); }

// A palette: three bytes a colour.
using Palette = std::span<const uint8_t>;

struct Frame {
  int left = 0, top = 0, width = 0, height = 0;
  bool is_interlaced = false;
  Palette palette;
};

// Takes bytes from the front.
class GifReader {
 public:
  explicit GifReader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  std::optional<std::span<const uint8_t>> Take(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  // The palette that a descriptor's last byte but for flags speaks of; empty: it has none.
  std::optional<Palette> TakePalette(uint8_t flags) {
    if ((flags & 0x80) == 0) return Palette();
    return Take(size_t{3} << ((flags & 7) + 1));
  }

  // The bytes of a chain of blocks, each with its length before it, up to an empty one.
  std::optional<std::vector<uint8_t>> TakeBlocks() {
    std::vector<uint8_t> bytes;
    while (true) {
      const auto length = Take(1);
      if (!length) return std::nullopt;
      if (length->front() == 0) return bytes;
      const auto block = Take(length->front());
      if (!block) return std::nullopt;
      bytes.insert(bytes.end(), block->begin(), block->end());
    }
  }

 private:
  std::span<const uint8_t> rest_;
};

int Number(std::span<const uint8_t> bytes, size_t at) { return bytes[at] | bytes[at + 1] << 8; }

// Codes of growing length, the lowest bit first.
class CodeReader {
 public:
  explicit CodeReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::optional<int> Next(int length) {
    while (bit_count_ < length) {
      if (at_ == bytes_.size()) return std::nullopt;
      bits_ |= static_cast<uint32_t>(bytes_[at_++]) << bit_count_;
      bit_count_ += 8;
    }
    const int code = static_cast<int>(bits_ & ((1U << length) - 1));
    bits_ >>= length;
    bit_count_ -= length;
    return code;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint32_t bits_ = 0;
  int bit_count_ = 0;
};

// What GIF's variant of LZW (Welch 1984) was made of: `count` palette indices.
Result<std::vector<uint8_t>> Unpack(std::span<const uint8_t> packed, int root_bits, size_t count) {
  if (root_bits < 2 || root_bits > 8) return Damaged();
  const int clear = 1 << root_bits;
  const int end = clear + 1;
  std::array<uint16_t, 1 << kCodeBitsMax> before = {};  // A string without its last index.
  std::array<uint8_t, 1 << kCodeBitsMax> last = {};
  for (int code = 0; code < clear; ++code)
    last[static_cast<size_t>(code)] = static_cast<uint8_t>(code);
  CodeReader codes(packed);
  std::vector<uint8_t> indices, reversed;
  int length = root_bits + 1;
  int known = end + 1;  // Codes that have a string.
  int previous = -1;
  while (indices.size() < count) {
    const std::optional<int> code = codes.Next(length);
    if (!code || *code == end) return Truncated();
    if (*code == clear) {
      length = root_bits + 1;
      known = end + 1;
      previous = -1;
      continue;
    }
    if (*code > known || (*code == known && previous < 0)) return Damaged();
    // A code that is about to be known stands for the previous string and its own first index.
    reversed.clear();
    for (int at = *code == known ? previous : *code;; at = before[static_cast<size_t>(at)]) {
      reversed.push_back(last[static_cast<size_t>(at)]);
      if (at < clear) break;
    }
    const uint8_t first = reversed.back();
    indices.insert(indices.end(), reversed.rbegin(), reversed.rend());
    if (*code == known) indices.push_back(first);
    if (previous >= 0 && known < 1 << kCodeBitsMax) {
      before[static_cast<size_t>(known)] = static_cast<uint16_t>(previous);
      last[static_cast<size_t>(known)] = first;
      if (++known == 1 << length && length < kCodeBitsMax) ++length;
    }
    previous = *code;
  }
  indices.resize(count);
  return indices;
}

// The rows of a frame in the order in which they are stored.
std::vector<int> RowOrder(const Frame& frame) {
  std::vector<int> rows;
  if (!frame.is_interlaced) {
    for (int y = 0; y < frame.height; ++y) rows.push_back(y);
    return rows;
  }
  static constexpr std::array<std::pair<int, int>, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  for (const auto& [begin, step] : kPasses) {
    for (int y = begin; y < frame.height; y += step) rows.push_back(y);
  }
  return rows;
}

Status Paint(const Frame& frame, std::span<const uint8_t> indices, RgbImage& image) {
  size_t from = 0;
  for (const int y : RowOrder(frame)) {
    const size_t row = static_cast<size_t>(frame.top + y) * static_cast<size_t>(image.width);
    uint8_t* to = image.pixels.data() + 3 * (row + static_cast<size_t>(frame.left));
    for (int x = 0; x < frame.width; ++x, to += 3) {
      const size_t colour = size_t{3} * indices[from++];
      if (colour >= frame.palette.size()) return Damaged();
      std::copy_n(frame.palette.begin() + static_cast<std::ptrdiff_t>(colour), 3, to);
    }
  }
  return OkStatus();
}

// Reads the frame whose introducer has been read, onto a screen in the background's colour.
Result<RgbImage> ReadFrame(GifReader& reader, std::span<const uint8_t> screen, Palette colours) {
  const auto described = reader.Take(9);
  if (!described) return Truncated();
  Frame frame{Number(*described, 0), Number(*described, 2),         Number(*described, 4),
              Number(*described, 6), ((*described)[8] & 0x40) != 0, colours};
  const auto own = reader.TakePalette((*described)[8]);
  const auto root_bits = reader.Take(1);
  const auto packed = reader.TakeBlocks();
  if (!own || !root_bits || !packed) return Truncated();
  if (!own->empty()) frame.palette = *own;

  RgbImage image;
  image.width = std::max(Number(screen, 0), frame.left + frame.width);
  image.height = std::max(Number(screen, 2), frame.top + frame.height);
  const int64_t pixel_count = int64_t{image.width} * image.height;
  if (frame.width == 0 || frame.height == 0 || pixel_count > kFramePixelsMax) return Damaged();
  TUNE_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> indices,
      Unpack(*packed, root_bits->front(),
             static_cast<size_t>(frame.width) * static_cast<size_t>(frame.height)));
  image.pixels.resize(static_cast<size_t>(pixel_count) * 3);
  const size_t background = size_t{3} * screen[5];
  if (background < colours.size()) {
    for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = colours[background + i % 3];
  }
  TUNE_RETURN_IF_ERROR(Paint(frame, indices, image));
  return image;
}

}  // namespace

bool LooksLikeGif(std::span<const uint8_t> bytes) {
  if (bytes.size() < 6) return false;
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), 6);
  return magic == "GIF87a" || magic == "GIF89a";
}

Result<RgbImage> ReadGif(std::span<const uint8_t> bytes) {
  if (!LooksLikeGif(bytes)) return DataLoss("not a GIF");
  GifReader reader(bytes.subspan(6));
  const auto screen = reader.Take(7);
  if (!screen) return Truncated();
  const auto colours = reader.TakePalette((*screen)[4]);
  if (!colours) return Truncated();
  while (true) {
    const auto introducer = reader.Take(1);
    if (!introducer) return Truncated();
    if (introducer->front() == kImage) return ReadFrame(reader, *screen, *colours);
    if (introducer->front() != kExtension) return Damaged();  // The trailer too: it has no image.
    if (!reader.Take(1) || !reader.TakeBlocks()) return Truncated();
  }
}

}  // namespace tune::models
