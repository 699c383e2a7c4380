// Messages in protobuf's wire format, field by field: for the few that TensorBoard reads, without
// the library. A field is written whatever its value, also where proto3 would leave a zero out.
//
// Source: protobuf.dev/programming-guides/encoding.
//
// Thread rule: one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace tune {

class ProtobufWriter {
 public:
  // int32, int64, bool and enumerations that are not negative.
  void Integer(int field, uint64_t value) {
    Tag(field, 0);
    Varint(value);
  }
  void Double(int field, double value) {
    Tag(field, 1);
    LittleEndian(std::bit_cast<uint64_t>(value), 8);
  }
  void Float(int field, float value) {
    Tag(field, 5);
    LittleEndian(std::bit_cast<uint32_t>(value), 4);
  }
  // Strings, bytes and messages.
  void Bytes(int field, std::string_view value) {
    Tag(field, 2);
    Varint(value.size());
    bytes_ += value;
  }
  void Message(int field, const ProtobufWriter& message) { Bytes(field, message.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  void Tag(int field, int wire_type) { Varint(static_cast<uint64_t>(field << 3 | wire_type)); }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  void LittleEndian(uint64_t value, int byte_count) {
    for (int i = 0; i < byte_count; ++i) bytes_.push_back(static_cast<char>(value >> 8 * i));
  }

  std::string bytes_;
};

}  // namespace tune
