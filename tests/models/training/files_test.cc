// Safetensors, checkpoints, options: what is read from files and people.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "core/random.h"
#include "models/train/checkpoint.h"
#include "models/train/food11_options.h"
#include "models/train/safetensors.h"
#include "tests/models/training/fake_network.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string WithHeader(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

std::string ErrorOf(const std::string& file) {
  const auto tensors = ParseSafetensors(AsBytes(file));
  if (tensors.ok()) return "";
  EXPECT_EQ(tensors.status().code(), StatusCode::kDataLoss);
  return tensors.status().message();
}

TEST(Safetensors, ReadsBackWhatItWroteBitForBit) {
  std::vector<NamedTensor> tensors = {
      {"features.0.0.weight", {2, 1, 1, 2}, {1.5F, -0.0F, 1e-42F, 3e38F}},
      {"scalar", {}, {7.0F}},
      {"none", {0, 3}, {}},
      {"nan", {1}, {std::numeric_limits<float>::quiet_NaN()}}};
  const std::string file = SerializeSafetensors(tensors);
  const auto read = ParseSafetensors(AsBytes(file));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ((*read)[i].name, tensors[i].name);
    EXPECT_EQ((*read)[i].shape, tensors[i].shape);
    ASSERT_EQ((*read)[i].data.size(), tensors[i].data.size());
    if (tensors[i].data.empty()) continue;
    EXPECT_EQ(std::memcmp((*read)[i].data.data(), tensors[i].data.data(),
                          tensors[i].data.size() * sizeof(float)),
              0);
  }
}

TEST(Safetensors, ReadsHalfPrecisionAndCounts) {
  // F16: 1, -2, the smallest subnormal 2^-24, infinity. BF16: 1, -2. I64: 3.
  const std::string data("\x00\x3c\x00\xc0\x01\x00\x00\x7c\x80\x3f\x00\xc0\x03\0\0\0\0\0\0\0", 20);
  const auto read = ParseSafetensors(AsBytes(WithHeader(
      R"({"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[12,20]}} )",
      data)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT((*read)[0].data, ElementsAre(1.0F, -2.0F, 0x1p-24F, INFINITY));
  EXPECT_THAT((*read)[1].data, ElementsAre(1.0F, -2.0F));
  EXPECT_THAT((*read)[2].data, ElementsAre(3.0F));
}

TEST(Safetensors, SaysWhatIsWrongWithAFile) {
  const std::string f32 = R"("dtype":"F32","shape":[1],"data_offsets":)";
  EXPECT_THAT(ErrorOf("short"), HasSubstr("shorter than"));
  EXPECT_THAT(ErrorOf(std::string(8, '\x7f')), HasSubstr("not a safetensors file"));
  EXPECT_THAT(ErrorOf(WithHeader("{}", "").substr(0, 9)), HasSubstr("ends inside its header"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":", "")), HasSubstr("header: 1:"));
  EXPECT_THAT(ErrorOf(WithHeader("[]", "")), HasSubstr("not a map"));
  EXPECT_THAT(
      ErrorOf(WithHeader("{\"a\":{" + f32 + "[0,4]},\"a\":{" + f32 + "[4,8]}}", "12345678")),
      HasSubstr("duplicate key 'a'"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":{" + f32 + "[0,8]}}", "12345678")),
              HasSubstr("tensor 'a': 8 bytes, its shape needs 4"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":{" + f32 + "[4,8]}}", "1234")),
              HasSubstr("pass the end of the file"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":{" + f32 + "[4,8]}}", "12345678")), HasSubstr("a hole"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":{" + f32 + "[0,4]},\"b\":{" + f32 + "[0,4]}}", "1234")),
              HasSubstr("overlaps"));
  EXPECT_THAT(ErrorOf(WithHeader("{\"a\":{" + f32 + "[0,4]}}", "12345")),
              HasSubstr("after the last tensor"));
  EXPECT_THAT(
      ErrorOf(WithHeader(R"({"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})", "12345678")),
      HasSubstr("dtype F64"));
  EXPECT_THAT(ErrorOf(WithHeader(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
                                 R"("data_offsets":[0,0]}})",
                                 "")),
              HasSubstr("no usable shape"));
}

// Any damage is an error or harmless; it never crashes (run under the sanitizers too).
TEST(Safetensors, NeverCrashesOnDamagedFiles) {
  const std::string file = SerializeSafetensors(
      std::vector<NamedTensor>{{"a", {2, 2}, {1, 2, 3, 4}}, {"b", {}, {5}}, {"c", {3}, {6, 7, 8}}});
  for (uint64_t round = 0; round < 5000; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = file;
    if (random.NextBelow(3) == 0) damaged.resize(random.NextBelow(file.size() + 1));
    for (uint64_t i = 1 + random.NextBelow(4); i > 0 && !damaged.empty(); --i) {
      const char digits[] = "0123456789{}[],:\"\xff";
      damaged[random.NextBelow(damaged.size())] = digits[random.NextBelow(sizeof digits)];
    }
    const auto read = ParseSafetensors(AsBytes(damaged));
    if (read.ok()) {
      EXPECT_LE(read->size(), 3U);
    }
  }
}

CheckpointState SomeState() {
  CheckpointState state;
  state.options.lr = 0.003;
  state.options.seed = 0xfedcba9876543210ULL;  // Beyond JSON's integers.
  state.class_names = {"soup", "rice \"quoted\""};
  state.data_hash = 42;
  state.history.resize(2);
  state.history[0].epoch = 1;
  state.history[0].val_loss = 1.0 / 3;
  state.history[1].epoch = 2;
  state.history[1].val_loss = std::nan("");
  state.history[1].end = EndReason::kDiverged;
  state.best_epoch = 1;
  state.threads = 3;
  state.weights = {{"w", {2}, {1, 2}}};
  state.optimizer = {{"adam.m/w", {2}, {3, 4}}};
  state.best_weights = {{"w", {2}, {5, 6}}};
  return state;
}

TEST(Checkpoint, ReadsBackWhatItWrote) {
  const TempFolder folder;
  const CheckpointState state = SomeState();
  const Result<std::string> path = WriteCheckpoint(folder.path(), "checkpoint_000002", state);
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*path, folder / "checkpoint_000002");
  EXPECT_FALSE(std::filesystem::exists(*path + ".tmp"));
  const Result<CheckpointState> read = ReadCheckpoint(*path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->options.seed, state.options.seed);
  EXPECT_EQ(read->options.lr, state.options.lr);
  EXPECT_EQ(read->class_names, state.class_names);
  EXPECT_EQ(read->data_hash, 42U);
  EXPECT_EQ(read->best_epoch, 1);
  EXPECT_EQ(read->threads, 3);
  ASSERT_EQ(read->history.size(), 2U);
  EXPECT_EQ(read->history[0].val_loss, 1.0 / 3);
  EXPECT_TRUE(std::isnan(read->history[1].val_loss));
  EXPECT_EQ(read->history[1].end, EndReason::kDiverged);
  EXPECT_TRUE(SameTensors(read->weights, state.weights));
  EXPECT_TRUE(SameTensors(read->optimizer, state.optimizer));
  EXPECT_TRUE(SameTensors(read->best_weights, state.best_weights));
}

TEST(Checkpoint, TellsItsStateWithoutItsTensors) {
  const TempFolder folder;
  const Result<std::string> path = WriteCheckpoint(folder.path(), "checkpoint_000002", SomeState());
  ASSERT_TRUE(path.ok());
  std::filesystem::remove(*path + "/model.safetensors");
  const Result<CheckpointState> state = ReadCheckpointManifest(*path);
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->threads, 3);
  EXPECT_EQ(state->epoch(), 2);
  EXPECT_TRUE(state->weights.empty());
}

TEST(Checkpoint, HasAnIdentityThatChangesWithItsContents) {
  const TempFolder a;
  const TempFolder b;
  CheckpointState state = SomeState();
  const Result<std::string> first = WriteCheckpoint(a.path(), "checkpoint_000002", state);
  state.weights[0].data[0] = 1.5F;
  const Result<std::string> second = WriteCheckpoint(b.path(), "checkpoint_000002", state);
  ASSERT_TRUE(first.ok() && second.ok());
  const Result<CheckpointIdentity> one = IdentifyCheckpoint(*first);
  const Result<CheckpointIdentity> two = IdentifyCheckpoint(*second);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->bytes, two->bytes);
  EXPECT_NE(one->checksum, two->checksum);
}

std::string ReadError(const std::string& folder) {
  const Result<CheckpointState> read = ReadCheckpoint(folder);
  if (read.ok()) return "";
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss) << read.status().message();
  return read.status().message();
}

TEST(Checkpoint, SaysWhichFileIsNotWhatWasWritten) {
  const TempFolder folder;
  const Result<std::string> path = WriteCheckpoint(folder.path(), "checkpoint_000002", SomeState());
  ASSERT_TRUE(path.ok());
  const std::string model = *path + "/model.safetensors";
  const std::string whole = ReadText(model);

  std::string flipped = whole;
  flipped.back() ^= 1;
  WriteText(model, flipped);
  EXPECT_THAT(ReadError(*path), HasSubstr("model.safetensors has the checksum"));
  WriteText(model, whole.substr(0, whole.size() - 1));
  EXPECT_THAT(ReadError(*path), HasSubstr("has 71 bytes, 72 were written"));
  std::filesystem::remove(model);
  EXPECT_THAT(ReadError(*path), HasSubstr("model.safetensors is missing"));
  WriteText(model, whole);
  EXPECT_EQ(ReadError(*path), "");

  const std::string manifest = *path + "/manifest.json";
  std::string text = ReadText(manifest);
  const size_t at = text.find("0.003");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 5, "0.004");
  WriteText(manifest, text);
  EXPECT_THAT(ReadError(*path), HasSubstr("manifest.json: its checksum"));
  std::filesystem::remove(manifest);
  EXPECT_THAT(ReadError(*path), HasSubstr("manifest.json is missing"));
  EXPECT_EQ(ReadCheckpoint(folder / "none").status().code(), StatusCode::kNotFound);
}

TEST(Checkpoint, NoticesAnyDamageToTheManifest) {
  const TempFolder folder;
  const Result<std::string> path = WriteCheckpoint(folder.path(), "checkpoint_000002", SomeState());
  ASSERT_TRUE(path.ok());
  const std::string manifest = *path + "/manifest.json";
  const std::string whole = ReadText(manifest);
  for (uint64_t round = 0; round < 300; ++round) {
    KeyedRandom random(round, "damage");
    std::string damaged = whole;
    if (round % 4 == 0) damaged.resize(random.NextBelow(whole.size() - 1));
    if (round % 4 != 0) {
      damaged[random.NextBelow(whole.size() - 1)] ^= static_cast<char>(1 + random.NextBelow(127));
    }
    WriteText(manifest, damaged);
    const Result<CheckpointState> read = ReadCheckpoint(*path);
    EXPECT_FALSE(read.ok()) << damaged;
  }
}

TEST(Checkpoint, LeavesNothingHalfMadeWhereItCannotBeWritten) {
  const TempFolder folder;
  WriteText(folder / "file", "in the way");
  const Result<std::string> path =
      WriteCheckpoint(folder / "file", "checkpoint_000002", SomeState());
  ASSERT_FALSE(path.ok());
  EXPECT_THAT(path.status().message(), HasSubstr("cannot create"));
}

Status Check(const std::string& name, Value value) { return CheckFood11Parameter(name, value); }

TEST(Food11Options, RefusesWhatCannotBeInOneLineThatSaysWhatIsExpected) {
  EXPECT_THAT(Check("dropout", 0.5).message(), HasSubstr("food11 has no parameter 'dropout'"));
  EXPECT_THAT(Check("batchsize", 32).message(), HasSubstr("did you mean 'batch_size'?"));
  EXPECT_EQ(Check("batch_size", 1).message(),
            "batch_size: read 1, expected an integer from 2 to 4096");
  EXPECT_EQ(Check("batch_size", 32.5).message(),
            "batch_size: read 32.5, expected an integer from 2 to 4096");
  EXPECT_EQ(Check("lr", 0.0).message(), "lr: read 0.0, expected a number above 0 to 10");
  EXPECT_EQ(Check("lr", "fast").message(), "lr: read \"fast\", expected a number above 0 to 10");
  EXPECT_EQ(Check("dropout_probability", 1.0).message(),
            "dropout_probability: read 1.0, expected a number from 0 to below 1");
  EXPECT_EQ(Check("weights", 3).message(), "weights: read 3, expected a string");
  EXPECT_FALSE(Check("lr", std::nan("")).ok());
  EXPECT_TRUE(Check("batch_size", 32.0).ok());  // A quantised domain draws it so.
  EXPECT_TRUE(Check("dropout_probability", 0).ok());
}

TEST(Food11Options, FillInTheDefaults) {
  Configuration configuration;
  configuration.Set("lr", 0.003);
  Result<Food11Options> options = ParseFood11Options(configuration, 99, "synthetic");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->fine_tune_lr, 0.003);  // lr's.
  EXPECT_EQ(options->initial_epochs, 0);    // Random weights: all layers from the start.
  EXPECT_EQ(options->seed, 99U);
  EXPECT_EQ(options->data, "synthetic");
  EXPECT_EQ(options->patience, 5);

  configuration.Set("weights", "imagenet.safetensors");
  configuration.Set("seed", 3);
  configuration.Set("data", "/food");
  options = ParseFood11Options(configuration, 99, "synthetic");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->initial_epochs, 5);
  EXPECT_EQ(options->seed, 3U);
  EXPECT_EQ(options->data, "/food");

  configuration.Set("inital_epochs", 3);
  EXPECT_THAT(ParseFood11Options(configuration, 1, "").status().message(),
              HasSubstr("did you mean 'initial_epochs'?"));
}

TEST(Food11Options, ComeBackFromTheirMap) {
  Food11Options options;
  options.lr = 1.0 / 3;
  options.width_mult = 0.35;
  options.weights = "w";
  Configuration configuration;
  const Value map = Food11OptionsToValue(options);
  for (const MapEntry& entry : map.AsMap()) configuration.Set(entry.key, entry.value);
  const Result<Food11Options> read = ParseFood11Options(configuration, 5, "");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(Food11OptionsToValue(*read), map);
}

}  // namespace
}  // namespace tune::models
