// The classifier on photographs that lie in an object store, against a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/posix/read_bytes.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Pictures of two classes under Food-11's raw names.
constexpr char kMakePictures[] = R"(import os, struct, zlib
def picture(red):
    rows = b''.join(b'\0' + bytes(v for x in range(40) for v in (red, 6 * x, 255 - red)) for _ in range(40))
    def chunk(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
    head = struct.pack('>IIBBBBB', 40, 40, 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
for split in ('training', 'validation', 'evaluation'):
    os.makedirs('photos/' + split)
    for label in (0, 1):
        for i in range(4):
            with open('photos/%s/%d_%d.png' % (split, label, i), 'wb') as out:
                out.write(picture(20 + 180 * label + i))
)";

class Food11InBucket : public BucketSweep {
 protected:
  void SetUp() override {
    BucketSweep::SetUp();
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    folder_.Write("make.py", kMakePictures);
    ASSERT_TRUE(
        Succeeded(RunProgram(folder_, "../../../../../../../../usr/bin/python3", {"make.py"})));
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "photos")) {
      if (!entry.is_regular_file()) continue;
      const std::string key = fs::relative(entry.path(), folder_ / "photos").string();
      ASSERT_TRUE(client_->Put("food 11/" + key, ReadBytes(entry.path().string()), {}, {}).ok());
    }
  }
  std::string Space(const std::string& data) const {
    return folder_.Write("space.yaml",
                         "trainable: food11\nmetric: val_accuracy\nmode: max\n"
                         "seed: 3\nsamples: 2\nspace: {data: " +
                             data +
                             ", image_size: 32, width_mult: 0.35, batch_size: 4, "
                             "initial_epochs: 1, total_epochs: 1}\n");
  }

  TestFolder folder_;
  TestFolder cache_;
};

TEST_F(Food11InBucket, TrainsAsOnTheSamePhotographsInAFolder) {
  ASSERT_TRUE(Succeeded(
      RunTune(folder_, {"run", Space("\"s3://" + bucket_ + "/food 11\""), "--cpus", "1"})));
  ASSERT_TRUE(Succeeded(
      RunTune(folder_, {"run", Space(folder_ / "photos"), "--cpus", "1", "--db", "folder.db"})));
  const std::string sql =
      "select trial, iteration, value, json_extract(metrics, '$.train_loss') from reports order by "
      "trial, iteration";
  EXPECT_EQ(Query(folder_, sql), Query(folder_, sql, "folder.db"));
  EXPECT_EQ(Query(folder_, sql).size(), 2u);
  EXPECT_THAT(Query(folder_, "select provenance from experiments").front(),
              HasSubstr("s3://" + bucket_ + "/food 11"));
}

TEST_F(Food11InBucket, DataOfAStoreAreTheSameForAllTrials) {
  const ProgramResult result =
      RunTune(folder_, {"run", Space("{choice: [\"s3://" + bucket_ + "/food 11\", synthetic]}")});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("data: what lies in an object store must be the same for all"));
}

TEST_F(Food11InBucket, TheVariableNamesAFolderAndNoStore) {
  setenv("FOOD11_DATA_DIR", "s3://bucket/food", 1);
  const ProgramResult result =
      RunTune(folder_, {"run", folder_.Write("without.yaml",
                                             "trainable: food11\nmetric: val_accuracy\nmode: max\n"
                                             "space: {total_epochs: 1, lr: {uniform: [0, 1]}}\n")});
  unsetenv("FOOD11_DATA_DIR");
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("FOOD11_DATA_DIR: read 's3://bucket/food', expected a folder"));
}

TEST_F(Food11InBucket, APrefixUnderWhichNothingLiesIsToldBeforeTheSweepBegins) {
  const ProgramResult result = RunTune(folder_, {"run", Space("s3://" + bucket_ + "/food12")});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("data: s3://" + bucket_ + "/food12 at "));
}

}  // namespace
}  // namespace tune::testing
