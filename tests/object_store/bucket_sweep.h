// Sweeps whose checkpoints go to a real object store, which with_rgw has booted, and what lies
// there, as a stranger sees it: through Debian's sqlite3 and our own client.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "core/hash.h"
#include "core/posix/real_clock.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"
#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/bucket/s3_client.h"

namespace tune::testing {

// Of the environment.
inline uint64_t NumberFrom(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Checkpoints' folders below.
inline std::vector<std::string> CopiesBelow(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with("checkpoint_")) found.push_back(it->path());
  }
  return found;
}

class BucketSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("AWS_ENDPOINT_URL_S3"), nullptr) << "run by tests/object_store/with_rgw";
    bucket_ = "sweep-" + HashToHex(DrawEntropy());
    Result<std::shared_ptr<S3Client>> client = S3Client::Make(bucket_);
    ASSERT_TRUE(client.ok()) << client.status().message();
    client_ = *client;
    const Status made = client_->Put("", "", {}, {});
    ASSERT_TRUE(made.ok()) << made.message();
  }

  std::string Storage(const std::string& prefix = "p") const {
    return "s3://" + bucket_ + "/" + prefix;
  }
  // One trial after the other, so that its table is that of any undisturbed life.
  std::string Space(const std::string& seconds, const std::string& checkpoint = "",
                    const std::string& rest = "samples: 3\nlimits: {max_concurrent: 1}\n") const {
    return CurveSweep(
        "    iterations: 9\n    seconds: " + seconds + "\n    checkpoint_bytes: 256KiB\n",
        "checkpoint: {storage: \"" + Storage() + "\"" + checkpoint + "}\n" + rest);
  }
  // The same without a store.
  static std::string OnDisk(std::string space) {
    const size_t begin = space.find("storage: ");
    const size_t end = space.find('"', space.find('"', begin) + 1);
    space.replace(begin, end + 1 - begin, "storage: auto");
    return space;
  }

  std::vector<std::string> Keys(const std::string& prefix = "") {
    std::vector<std::string> keys;
    const auto objects = client_->List(prefix, {});
    EXPECT_TRUE(objects.ok()) << objects.status().message();
    if (objects.ok()) {
      for (const S3Object& object : *objects) keys.push_back(object.key);
    }
    return keys;
  }
  // "s3://..." of all that have a manifest, sorted.
  std::vector<std::string> Checkpoints() {
    constexpr std::string_view kEnd = "/manifest.json";
    std::vector<std::string> found;
    for (const std::string& key : Keys()) {
      const bool is_manifest = key.ends_with(kEnd) && key.find("/data/") == std::string::npos;
      if (is_manifest) {
        found.push_back("s3://" + bucket_ + "/" + key.substr(0, key.size() - kEnd.size()));
      }
    }
    return found;
  }
  static std::vector<std::string> Durable(const TestFolder& folder) {
    return Query(folder, "select path from checkpoints where state = 'durable' order by path");
  }
  // Of the sweep "space" that it runs.
  static void AwaitReports(Program& tune, const TestFolder& folder, int count) {
    ASSERT_TRUE(tune.WaitForText("sweep space"));
    while (!std::filesystem::exists(folder / "tune.db")) {
    }
    WaitForReports(folder, count);
  }
  // Another machine, to which the database alone has come. The worker of a tuner that was killed
  // may still be writing for a moment.
  static void LoseArtifacts(const TestFolder& folder) {
    std::error_code error;
    do {
      std::filesystem::remove_all(folder / "tune.artifacts", error);
    } while (error);
  }
  // What rows call durable is there, and nothing else is.
  void ExpectStoreIsWhatRowsSay(const TestFolder& folder) {
    std::vector<std::string> there = Checkpoints();
    std::sort(there.begin(), there.end());
    EXPECT_EQ(there, Durable(folder));
    const auto uploads = client_->ListUploads("", {});
    EXPECT_TRUE(uploads.ok() && uploads->empty());
  }

  // What was killed is started by the command of that variable, which prints its pid.
  static void StartAgain(const char* command, const char* pid_variable) {
    FILE* const pipe = popen(std::getenv(command), "r");
    ASSERT_NE(pipe, nullptr);
    char pid[32] = {};
    ASSERT_NE(fgets(pid, sizeof pid, pipe), nullptr);
    ASSERT_EQ(pclose(pipe), 0);
    setenv(pid_variable, std::to_string(std::atoi(pid)).c_str(), 1);
  }
  // A sweep whose store is away from `go` on until `come`: it waits, and comes to what it would
  // have.
  void ExpectItIsWaitedFor(const std::function<void()>& go, const std::function<void()>& come) {
    TestFolder folder;
    const std::string space = Space("0.2");
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    AwaitReports(tune, folder, 4);
    go();
    ASSERT_TRUE(
        tune.WaitForText("checkpoints wait, trials go on up to their next one: cannot write"));
    come();
    ASSERT_TRUE(tune.WaitForText("checkpoints are kept again"));
    EXPECT_TRUE(Succeeded(tune.Wait()));
    EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
    EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts group by 1"),
              std::vector<std::string>{"completed|3"});
    ExpectStoreIsWhatRowsSay(folder);
  }

  // The gateway stops and goes on, as a store that hangs; it is on its feet when a test ends.
  class Stopped {
   public:
    Stopped() { kill(Gateway(), SIGSTOP); }
    ~Stopped() { kill(Gateway(), SIGCONT); }
    static pid_t Gateway() { return std::atoi(std::getenv("TUNE_RGW_GATEWAY")); }
  };

  std::string bucket_;
  std::shared_ptr<S3Client> client_;
};

}  // namespace tune::testing
