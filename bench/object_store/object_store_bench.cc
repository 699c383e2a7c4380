// How fast does a checkpoint get to an object store and back, and how fast does Debian's awscli
// bring the same file there?
//
//   tests/object_store/with_rgw object_store_bench [--megabytes N] [--rounds N]
//   tests/object_store/with_rgw object_store_bench --photographs N [--rounds N]
//   tests/object_store/with_rgw object_store_bench --toy      a few megabytes: that it runs
//
// With --photographs: so many objects of 10 kB into an empty cache, in turn with `aws s3 sync` into
// an empty folder. Ours compares each with its ETag and syncs them all.
//
// One file. Ours hashes it, sends it in parts, and writes the manifest; down it is verified and
// synced. The peer's `aws s3 cp` does neither, and pays for the start of Python, as each call of a
// script does. Both ask the same store, in turn, in one run.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/posix/real_clock.h"
#include "trial_runner/bucket/bucket_checkpoints.h"
#include "trial_runner/bucket/bucket_data.h"
#include "trial_runner/bucket/s3_client.h"
#include "trial_runner/bucket/side_by_side.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "object_store_bench: %s\n", what.c_str());
  std::exit(1);
}

double SecondsOf(const std::function<void()>& run) {
  const auto begin = SteadyClock::now();
  run();
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

void Write(const std::string& path, int64_t bytes) {
  std::ofstream out(path, std::ios::binary);
  std::string block(1 << 20, '\0');
  uint64_t state = 1;
  for (int64_t written = 0; written < bytes; written += static_cast<int64_t>(block.size())) {
    for (char& c : block) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      c = static_cast<char>(state >> 56);
    }
    out.write(block.data(), std::min<int64_t>(static_cast<int64_t>(block.size()), bytes - written));
  }
}

// Debian's, whatever else is called aws.
void Aws(const std::string& arguments) {
  const std::string command =
      "/usr/bin/aws --endpoint-url \"$AWS_ENDPOINT_URL_S3\" " + arguments + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) Fail("failed: " + command);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string what;
  std::vector<double> ours, peer;
};

void Print(const Row& row, int64_t megabytes) {
  const double ours = Median(row.ours);
  std::printf("| %s | %.2f s, %.0f MB/s | ", row.what.c_str(), ours,
              static_cast<double>(megabytes) / ours);
  if (row.peer.empty()) {
    std::printf("not there | |\n");
    return;
  }
  const double peer = Median(row.peer);
  std::printf("%.2f s, %.0f MB/s | %.2f |\n", peer, static_cast<double>(megabytes) / peer,
              peer / ours);
}

int Run(int64_t megabytes, int rounds) {
  const std::string bucket = "bench-" + HashToHex(DrawEntropy());
  const Result<std::shared_ptr<S3Client>> client = S3Client::Make(bucket);
  if (!client.ok()) Fail(client.status().message());
  if (const Status s = (*client)->Put("", "", {}, {}); !s.ok()) Fail(s.message());
  const fs::path folder = fs::temp_directory_path() / bucket;
  fs::create_directories(folder / "up");
  Write(folder / "up/model", megabytes * 1'000'000);
  const bool has_peer = fs::exists("/usr/bin/aws");
  Row up{"up", {}, {}}, down{"down", {}, {}};
  for (int round = 0; round < rounds; ++round) {
    const std::string key = "ours/" + std::to_string(round);
    up.ours.push_back(SecondsOf([&] {
      const auto sent = CheckpointUpload(*client, key, folder / "up").Run({});
      if (!sent.ok()) Fail(sent.status().message());
    }));
    down.ours.push_back(SecondsOf([&] {
      const auto brought = BringCheckpoint(**client, {key, folder, "ours"}, {});
      if (!brought.ok()) Fail(brought.status().message());
    }));
    fs::remove_all(folder / "ours");
    if (!RemoveCheckpoint(**client, key, {}).ok()) Fail("cannot remove what was sent");
    if (!has_peer) continue;
    const std::string url = "s3://" + bucket + "/peer";
    up.peer.push_back(
        SecondsOf([&] { Aws("s3 cp " + (folder / "up/model").string() + " " + url); }));
    down.peer.push_back(SecondsOf([&] { Aws("s3 cp " + url + " " + (folder / "peer").string()); }));
    fs::remove_all(folder / "peer");
    Aws("s3 rm " + url);
  }
  fs::remove_all(folder);
  std::printf(
      "%lld MB, median of %d\n\n| | tune | aws s3 cp | times as fast |\n|---|---|---|---|\n",
      static_cast<long long>(megabytes), rounds);
  Print(up, megabytes);
  Print(down, megabytes);
  return 0;
}

int RunPhotographs(int count, int rounds) {
  constexpr size_t kBytes = 10'000;
  const std::string bucket = "bench-" + HashToHex(DrawEntropy());
  const Result<std::shared_ptr<S3Client>> client = S3Client::Make(bucket);
  if (!client.ok()) Fail(client.status().message());
  if (const Status s = (*client)->Put("", "", {}, {}); !s.ok()) Fail(s.message());
  const Status put =
      SideBySide(static_cast<size_t>(count), 16, {}, [&](size_t i, const auto& stop) {
        std::string photograph(kBytes, static_cast<char>(i));
        photograph += std::to_string(i);
        const std::string key =
            "set/class_" + std::to_string(i % 11) + "/" + std::to_string(i) + ".jpg";
        return (*client)->Put(key, photograph, {}, stop);
      });
  if (!put.ok()) Fail(put.message());
  const fs::path folder = fs::temp_directory_path() / bucket;
  const bool has_peer = fs::exists("/usr/bin/aws");
  Row row{"into the cache", {}, {}};
  for (int round = 0; round < rounds; ++round) {
    row.ours.push_back(SecondsOf([&] {
      const auto brought = BringData(**client, "set", folder / "cache", {}, {});
      if (!brought.ok()) Fail(brought.status().message());
    }));
    fs::remove_all(folder / "cache");
    if (!has_peer) continue;
    row.peer.push_back(
        SecondsOf([&] { Aws("s3 sync s3://" + bucket + "/set " + (folder / "peer").string()); }));
    fs::remove_all(folder / "peer");
  }
  fs::remove_all(folder);
  std::printf(
      "%d objects of 10 kB, median of %d\n\n| | tune | aws s3 sync | times as fast |\n"
      "|---|---|---|---|\n",
      count, rounds);
  Print(row, static_cast<int64_t>(count) * static_cast<int64_t>(kBytes) / 1'000'000);
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  int64_t megabytes = 256;
  int rounds = 5;
  int photographs = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--toy") {
      megabytes = 20;
      rounds = 1;
    } else if (option == "--megabytes" && i + 1 < argc) {
      megabytes = std::atoll(argv[++i]);
    } else if (option == "--photographs" && i + 1 < argc) {
      photographs = std::atoi(argv[++i]);
    } else if (option == "--rounds" && i + 1 < argc) {
      rounds = std::atoi(argv[++i]);
    } else {
      std::fprintf(
          stderr,
          "usage: object_store_bench [--megabytes N | --photographs N] [--rounds N] [--toy]\n");
      return 2;
    }
  }
  if (photographs > 0) return tune::RunPhotographs(photographs, std::max(1, rounds));
  return tune::Run(std::max<int64_t>(1, megabytes), std::max(1, rounds));
}
