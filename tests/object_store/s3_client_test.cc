// The client and checkpoints against a real store, which with_rgw has booted: its address and
// credentials are in the environment.
#include "trial_runner/bucket/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/read_bytes.h"
#include "core/posix/real_clock.h"
#include "trial_runner/bucket/bucket_checkpoints.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

// A variable that is another one while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), was_(std::getenv(name)) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { setenv(name_, was_.c_str(), 1); }

 private:
  const char* const name_;
  const std::string was_;
};

std::string Pattern(size_t bytes) {
  std::string text(bytes, '\0');
  uint64_t state = bytes;
  for (char& c : text) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return text;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("AWS_ENDPOINT_URL_S3"), nullptr) << "run by tests/object_store/with_rgw";
    bucket_ = "test-" + HashToHex(DrawEntropy());
    Result<std::shared_ptr<S3Client>> client = S3Client::Make(bucket_);
    ASSERT_TRUE(client.ok()) << client.status().message();
    client_ = *client;
    const Status made = client_->Put("", "", {}, {});  // The bucket itself.
    ASSERT_TRUE(made.ok()) << made.message();
    folder_ = fs::temp_directory_path() / ("s3_client_test_" + HashToHex(DrawEntropy()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    if (client_ != nullptr) (void)RemoveAllBelow(*client_, "", {}).ok();
  }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::binary) << text;
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    const auto objects = client_->List("", {});
    EXPECT_TRUE(objects.ok()) << objects.status().message();
    if (objects.ok()) {
      for (const S3Object& object : *objects) keys.push_back(object.key);
    }
    return keys;
  }

  std::string bucket_;
  std::shared_ptr<S3Client> client_;
  fs::path folder_;
};

TEST_F(StoreTest, KeepsWhateverAKeyIsCalled) {
  for (const std::string key : {"plain", "with space", "ends with space ", "ü/ñ/日本", "100%",
                                "a+b&c=d?e#f", "%20", "~'()*!", "tab\tin it"}) {
    SCOPED_TRACE(key);
    ASSERT_TRUE(client_->Put(key, "of " + key, {}, {}).ok());
    const Result<std::string> got = client_->Get(key, {});
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, "of " + key);
    EXPECT_EQ(*client_->Head(key, {}), static_cast<int64_t>(got->size()));
    EXPECT_THAT(Keys(), ElementsAre(key));
    ASSERT_TRUE(client_->Delete(key, {}).ok());
    EXPECT_EQ(client_->Get(key, {}).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(*client_->Head(key, {}), std::nullopt);
    EXPECT_TRUE(client_->Delete(key, {}).ok());
  }
}

TEST_F(StoreTest, ListsMoreThanAPage) {
  for (int i = 0; i < 1'050; ++i) {
    ASSERT_TRUE(client_->Put("many/" + std::to_string(i), "", {}, {}).ok());
  }
  EXPECT_THAT(Keys(), SizeIs(1'050));
  ASSERT_TRUE(RemoveAllBelow(*client_, "many/", {}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(StoreTest, WritesWhatIsNewOnce) {
  S3Client::PutOptions is_new;
  is_new.is_new = true;
  ASSERT_TRUE(client_->Put("owner", "one", is_new, {}).ok());
  EXPECT_EQ(client_->Put("owner", "two", is_new, {}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*client_->Get("owner", {}), "one");
}

TEST_F(StoreTest, SaysInOneLineWhatAPersonHasToMend) {
  const auto status = [](const std::string& bucket) {
    return (*S3Client::Make(bucket))->Put("key", "text", {}, {});
  };
  EXPECT_THAT(status("no-such-bucket-here").message(),
              HasSubstr("NoSuchBucket; make the bucket, or name another one"));
  {
    const Variable secret("AWS_SECRET_ACCESS_KEY", "WRONG");
    EXPECT_EQ(status(bucket_).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status(bucket_).message(), HasSubstr("SignatureDoesNotMatch; the secret access"));
  }
  {
    const Variable key("AWS_ACCESS_KEY_ID", "NOBODY");
    EXPECT_THAT(status(bucket_).message(), HasSubstr("the store does not know this access key"));
  }
  {
    const Variable endpoint("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1");
    EXPECT_EQ(status(bucket_).code(), StatusCode::kUnavailable);
    EXPECT_THAT(status(bucket_).message(), HasSubstr("127.0.0.1:1"));
  }
}

// As if this machine's clock were two hours late.
class LateClock final : public Clock {
 public:
  Instant Now() const override { return Instant{clock_.Now().us - Seconds(7230).us}; }

 private:
  const RealClock clock_;
};

TEST_F(StoreTest, SaysHowFarTheClockIsOff) {
  const LateClock late;
  const AwsSurroundings surroundings = RealAwsSurroundings();
  const S3Settings settings = *ReadS3Settings(surroundings);
  const std::shared_ptr<HttpTransport> transport = *CurlTransport::Make({});
  S3Client client(
      bucket_, {settings, transport,
                std::make_shared<S3CredentialSource>(surroundings, settings, transport, late), late,
                late, [](Duration, const std::stop_token&) { return true; }});
  const Status status = client.Put("key", "text", {}, {});
  EXPECT_THAT(status.message(), HasSubstr("RequestTimeTooSkewed"));
  EXPECT_THAT(status.message(), HasSubstr("this machine's clock is 2 h 00 min behind the store's"));
}

TEST_F(StoreTest, BringsACheckpointBackAsItWas) {
  Write("up/small", "text");
  Write("up/in/ends with space ", "");
  Write("up/in/100% ü", Pattern(1000));
  Write("up/large", Pattern(static_cast<size_t>(limits::kS3PartBytes) * 2 + 12345));
  fs::create_directories(folder_ / "up/empty");
  chmod((folder_ / "up/small").c_str(), 0755);
  CheckpointUpload upload(client_, "p/1/checkpoint_000001", folder_ / "up");
  const Result<std::string> sha256 = upload.Run({});
  ASSERT_TRUE(sha256.ok()) << sha256.status().message();
  const auto brought = BringCheckpoint(*client_, {"p/1/checkpoint_000001", folder_, "down"}, {});
  ASSERT_TRUE(brought.ok()) << brought.status().message();
  EXPECT_EQ(brought->sha256, *sha256);
  EXPECT_EQ(brought->folder, folder_ / "down");
  for (const char* const name : {"small", "in/ends with space ", "in/100% ü", "large"}) {
    EXPECT_EQ(ReadBytes(folder_ / "down" / name), ReadBytes(folder_ / "up" / name)) << name;
  }
  EXPECT_TRUE(fs::is_directory(folder_ / "down/empty"));
  struct stat info;
  ASSERT_EQ(stat((folder_ / "down/small").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0111, 0111u);
  // What is here already is taken, and what is not quite it is not.
  const auto again =
      BringCheckpoint(*client_, {"p/1/checkpoint_000001", folder_, "third", folder_ / "down"}, {});
  EXPECT_EQ(again->folder, folder_ / "down");
  Write("down/small", "tixt");
  const auto fresh =
      BringCheckpoint(*client_, {"p/1/checkpoint_000001", folder_, "third", folder_ / "down"}, {});
  EXPECT_EQ(fresh->folder, folder_ / "third");
  ASSERT_TRUE(RemoveCheckpoint(*client_, "p/1/checkpoint_000001", {}).ok());
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_EQ(
      BringCheckpoint(*client_, {"p/1/checkpoint_000001", folder_, "none"}, {}).status().code(),
      StatusCode::kNotFound);
}

TEST_F(StoreTest, TellsADamagedCheckpoint) {
  Write("up/file", "text");
  ASSERT_TRUE(CheckpointUpload(client_, "c", folder_ / "up").Run({}).ok());
  ASSERT_TRUE(client_->Put(DataKey("c", "file"), "tixt", {}, {}).ok());
  const Status status = BringCheckpoint(*client_, {"c", folder_, "down"}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  // Also where bytes are missing.
  for (const char* const shorter : {"te", ""}) {
    ASSERT_TRUE(client_->Put(DataKey("c", "file"), shorter, {}, {}).ok());
    const Status cut = BringCheckpoint(*client_, {"c", folder_, "down"}, {}).status();
    EXPECT_EQ(cut.code(), StatusCode::kDataLoss) << cut.message();
  }
  EXPECT_FALSE(fs::exists(folder_ / "down"));
}

TEST_F(StoreTest, TakesNoFolderThatItCouldNotBringBack) {
  Write("up/file", "text");
  fs::create_symlink("/etc/passwd", folder_ / "up/link");
  CheckpointUpload upload(client_, "c", folder_ / "up");
  EXPECT_EQ(upload.Run({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(upload.is_folder_bad());
  EXPECT_THAT(Keys(), IsEmpty());
}

TEST_F(StoreTest, GoesOnWithAnUploadThatBroke) {
  const int64_t parts = 4;
  Write("up/large", Pattern(static_cast<size_t>(limits::kS3PartBytes * parts)));
  CheckpointUpload upload(client_, "c", folder_ / "up");
  std::stop_source stop;
  // Told to end while the store does not answer: the gateway is stopped.
  const pid_t gateway = atoi(std::getenv("TUNE_RGW_GATEWAY"));
  ASSERT_GT(gateway, 1);
  ASSERT_EQ(kill(gateway, SIGSTOP), 0);
  std::jthread run([&] { EXPECT_FALSE(upload.Run(stop.get_token()).ok()); });
  stop.request_stop();
  run.join();
  ASSERT_EQ(kill(gateway, SIGCONT), 0);
  EXPECT_EQ(BringCheckpoint(*client_, {"c", folder_, "down"}, {}).status().code(),
            StatusCode::kNotFound);
  const Result<std::string> sha256 = upload.Run({});
  ASSERT_TRUE(sha256.ok()) << sha256.status().message();
  const auto brought = BringCheckpoint(*client_, {"c", folder_, "down"}, {});
  ASSERT_TRUE(brought.ok()) << brought.status().message();
  EXPECT_EQ(ReadBytes(folder_ / "down/large"), ReadBytes(folder_ / "up/large"));
}

TEST_F(StoreTest, LeavesNothingOfAnUploadThatIsGivenUp) {
  const std::string names[] = {"c/data/large", "c/data/with 100% + <ü>&%20.bin", "c/data/ends "};
  for (const std::string& name : names) {
    const Result<std::string> id = client_->BeginUpload(name, {});
    ASSERT_TRUE(id.ok()) << id.status().message();
    ASSERT_TRUE(client_->PutPart(name, *id, 1, "text", "", {}).ok());
  }
  const auto uploads = client_->ListUploads("c/", {});
  ASSERT_TRUE(uploads.ok()) << uploads.status().message();
  std::vector<std::string> keys;
  for (const S3Upload& upload : *uploads) keys.push_back(upload.key);
  EXPECT_THAT(keys, UnorderedElementsAreArray(names));
  ASSERT_TRUE(RemoveAllBelow(*client_, "c/", {}).ok());
  EXPECT_THAT(*client_->ListUploads("c/", {}), IsEmpty());
}

}  // namespace
}  // namespace tune
