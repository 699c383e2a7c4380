// Data in an object store, on their way into a machine's cache, against a real store.
#include "trial_runner/bucket/bucket_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/posix/read_bytes.h"
#include "core/posix/real_clock.h"
#include "tests/object_store/bucket_sweep.h"
#include "trial_runner/package/cache_trim.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Files = std::map<std::string, std::string>;  // Path to content.

class BucketData : public BucketSweep {
 protected:
  void Put(const std::string& key, const std::string& text) {
    const Status put = client_->Put(key, text, {}, {});
    ASSERT_TRUE(put.ok()) << put.message();
  }
  Result<BroughtData> Bring(const std::string& key, DataNews news = {},
                            const std::stop_token& stop = {}) {
    if (!news.on_line) news.on_line = [this](const std::string& line) { lines_.push_back(line); };
    return BringData(*client_, key, cache_.path(), news, stop);
  }
  static Files FilesIn(const std::string& folder) {
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      files[fs::relative(entry.path(), folder).string()] = ReadBytes(entry.path().string());
    }
    return files;
  }
  Files Brought(const std::string& key, DataNews news = {}) {
    const Result<BroughtData> brought = Bring(key, std::move(news));
    EXPECT_TRUE(brought.ok()) << brought.status().message();
    return brought.ok() ? FilesIn(brought->path) : Files();
  }
  std::vector<std::string> InCache() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(cache_ / "data")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TestFolder cache_;
  std::vector<std::string> lines_;
};

TEST_F(BucketData, AllBelowAPrefixComesWithItsNames) {
  Files expected;
  for (const char* const name : {"a b/100% ü.txt", "+plus", "deep/er/x", "empty", "ends "}) {
    expected[name] = name == std::string("empty") ? "" : std::string("the text of ") + name;
    Put(std::string("set ä/") + name, expected[name]);
  }
  Put("set ä/a folder's mark/", "");
  Put("set ä and another", "not of it");
  EXPECT_EQ(Brought("set ä"), expected);
  EXPECT_THAT(InCache(), SizeIs(1)) << "nothing is left of what was on its way";
  struct stat info = {};
  ASSERT_EQ(stat((cache_ / "data").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u) << "it is its user's alone";
}

TEST_F(BucketData, MoreObjectsThanAPageOfAListingHasComeAllAndOnce) {
  Files expected;
  for (int i = 0; i < 1'100; ++i) expected[std::to_string(i)] = "photograph " + std::to_string(i);
  std::atomic<int> next = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i; (i = next++) < 1'100;) {
        Put("many/" + std::to_string(i), expected[std::to_string(i)]);
      }
    });
  }
  threads.clear();
  DataProgress last;
  DataNews news;
  news.on_progress = [&last](const DataProgress& progress) { last = progress; };
  EXPECT_EQ(Brought("many", news), expected);
  EXPECT_EQ(last.files, 1'100);
  EXPECT_EQ(last.bytes, last.bytes_in_all);
  int told = 0;
  news.on_progress = [&told](const DataProgress&) { ++told; };
  EXPECT_EQ(Brought("many", news), expected);
  EXPECT_EQ(told, 0) << "it was there";
}

TEST_F(BucketData, OneObjectIsAFileAndALargeOneComesInParts) {
  std::string large(40 << 20, 'x');
  for (size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  Put("models/large.bin", large);
  Put("models/large.bin.old", "another");
  const Result<BroughtData> brought = Bring("models/large.bin");
  ASSERT_TRUE(brought.ok()) << brought.status().message();
  EXPECT_EQ(fs::path(brought->path).filename(), "large.bin");
  EXPECT_TRUE(ReadBytes(brought->path) == large);
}

// In the place of a network, or a store's disk, that changes bytes.
class FlippingTransport final : public HttpTransport {
 public:
  // `is_encrypted`: the store says so of its objects.
  FlippingTransport(std::shared_ptr<HttpTransport> transport, int times, bool is_encrypted)
      : transport_(std::move(transport)), times_(times), is_encrypted_(is_encrypted) {}
  S3Reply Do(const HttpExchange& exchange, const std::stop_token& stop) override {
    if (!exchange.take || --times_ < 0) return transport_->Do(exchange, stop);
    HttpExchange flipping = exchange;
    bool has_flipped = false;
    flipping.take = [&](std::string_view piece) {
      std::string other(piece);
      if (!std::exchange(has_flipped, true)) other[other.size() / 2] ^= 4;
      return exchange.take(other);
    };
    S3Reply reply = transport_->Do(flipping, stop);
    reply.is_encrypted |= is_encrypted_;
    return reply;
  }

 private:
  const std::shared_ptr<HttpTransport> transport_;
  std::atomic<int> times_;
  const bool is_encrypted_;
};

TEST_F(BucketData, BytesThatAreChangedOnTheirWayAreFetchedAgain) {
  constexpr size_t kMebibyte = 1 << 20;
  std::string large(21 * kMebibyte, 'x');
  for (size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  const auto put_in_parts = [&](const std::string& key, size_t part_bytes) {
    const Result<std::string> upload = client_->BeginUpload(key, {});
    ASSERT_TRUE(upload.ok());
    std::vector<S3Part> parts;
    for (size_t at = 0; at < large.size(); at += part_bytes) {
      const auto number = static_cast<int64_t>(parts.size()) + 1;
      const Result<S3Part> part = client_->PutPart(
          key, *upload, number, std::string_view(large).substr(at, part_bytes), {}, {});
      ASSERT_TRUE(part.ok()) << part.status().message();
      parts.push_back(*part);
    }
    ASSERT_TRUE(client_->CompleteUpload(key, *upload, parts, {}).ok());
  };
  put_in_parts("usual", 8 * kMebibyte);
  put_in_parts("odd", 13 * kMebibyte + 1);
  Put("whole", large);
  Put("small", large.substr(0, kMebibyte));
  const AwsSurroundings surroundings = RealAwsSurroundings();
  const Result<S3Settings> settings = ReadS3Settings(surroundings);
  ASSERT_TRUE(settings.ok());
  Result<std::unique_ptr<CurlTransport>> made = CurlTransport::Make({settings->ca_file});
  ASSERT_TRUE(made.ok());
  const std::shared_ptr<HttpTransport> curl = *std::move(made);
  const RealClock clock;
  TestFolder other;
  const auto bring = [&](const std::string& key, int times, bool is_encrypted) {
    const auto transport = std::make_shared<FlippingTransport>(curl, times, is_encrypted);
    S3Client client(
        bucket_, {*settings, transport,
                  std::make_shared<S3CredentialSource>(surroundings, *settings, transport, clock),
                  clock, clock, [](Duration, const std::stop_token&) { return true; }});
    return BringData(client, key, (is_encrypted ? other : cache_).path(), {}, {});
  };
  constexpr int kAlways = 1'000'000;
  for (const std::string key : {"whole", "small"}) {
    const Result<BroughtData> damaged = bring(key, kAlways, false);
    EXPECT_EQ(damaged.status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(damaged.status().message(), HasSubstr(key + ": the same bytes came twice"));
    EXPECT_THAT(damaged.status().message(), HasSubstr("is not their MD5: it is damaged"));
  }
  for (const std::string key : {"usual", "odd", "whole", "small"}) {
    const Result<BroughtData> brought = bring(key, 1, false);
    ASSERT_TRUE(brought.ok()) << brought.status().message();
    EXPECT_TRUE(ReadBytes(brought->path) == (key == "small" ? large.substr(0, kMebibyte) : large))
        << key;
  }
  // An ETag that is none of the bytes': they came twice.
  EXPECT_TRUE(bring("small", kAlways, true).ok());
}

TEST_F(BucketData, WhatChangesOnItsWayComesAsItIsThenAndIsSaid) {
  for (int i = 0; i < 40; ++i) Put("set/" + std::to_string(i), "first");
  std::atomic<bool> has_changed = false;
  DataNews news;
  news.on_progress = [&](const DataProgress&) {
    if (has_changed.exchange(true)) return;
    Put("set/7", "second");
    EXPECT_TRUE(client_->Delete("set/8", {}).ok());
    Put("set/40", "first");
  };
  Files expected;
  for (int i = 0; i < 41; ++i) expected[std::to_string(i)] = i == 7 ? "second" : "first";
  expected.erase("8");
  EXPECT_EQ(Brought("set", news), expected);
  EXPECT_THAT(lines_, Contains(HasSubstr("it changed while it was fetched: cannot read ")));
}

TEST_F(BucketData, AnotherProcessGoesOnWithWhatBrokeOff) {
  Files expected;
  for (int i = 0; i < 200; ++i) {
    expected[std::to_string(i)] = std::to_string(i);
    Put("set/" + std::to_string(i), std::to_string(i));
  }
  std::stop_source stop;
  DataNews news;
  news.on_progress = [&stop](const DataProgress& progress) {
    if (progress.files == 50) stop.request_stop();
  };
  EXPECT_EQ(Bring("set", news, stop.get_token()).status().code(), StatusCode::kUnavailable);
  std::optional<int64_t> begun_with;
  news.on_progress = [&begun_with](const DataProgress& progress) {
    if (!begun_with) begun_with = progress.files;
  };
  EXPECT_EQ(Brought("set", news), expected);
  EXPECT_GE(begun_with, 50);
}

TEST_F(BucketData, WhoComesMeanwhileWaitsAndHasTheSame) {
  for (int i = 0; i < 100; ++i) Put("set/" + std::to_string(i), "text");
  std::atomic<int> fetched = 0;
  DataNews news;
  news.on_progress = [&fetched](const DataProgress& progress) {
    if (progress.files > 0) ++fetched;
  };
  std::vector<std::string> paths(4);
  std::vector<std::jthread> threads;
  for (std::string& path : paths) {
    threads.emplace_back([&] {
      DataNews quiet = news;
      quiet.on_line = [](const std::string&) {};
      const Result<BroughtData> brought = Bring("set", quiet);
      if (brought.ok()) path = brought->path;
    });
  }
  threads.clear();
  EXPECT_EQ(fetched, 100);
  EXPECT_THAT(std::set<std::string>(paths.begin(), paths.end()), SizeIs(1));
  EXPECT_THAT(FilesIn(paths.front()), SizeIs(100));
}

TEST_F(BucketData, AFileThatAProgramHasShortenedIsFetchedAgain) {
  Put("set/a", "the text");
  const std::string path = Bring("set")->path;
  chmod((path + "/a").c_str(), 0600);
  fs::resize_file(path + "/a", 1);
  EXPECT_EQ(Brought("set"), (Files{{"a", "the text"}}));
}

TEST_F(BucketData, NamesThatCannotBeFilesAreRefusedByName) {
  Put("set/a", "file");
  Put("set/a/b", "below it");
  EXPECT_THAT(Bring("set").status().message(),
              HasSubstr("'a' is an object, and others lie below it: it cannot be file and folder"));
  Put("climbs/../x", "up");
  EXPECT_THAT(Bring("climbs").status().message(), HasSubstr("the object 'climbs/../x' cannot be"));
  EXPECT_EQ(Bring("nothing").status().message(),
            "s3://" + bucket_ + "/nothing at " + client_->Describe() +
                ": there is no object of that name, nor below it");
}

TEST_F(BucketData, TheCachesBudgetIsForDataToo) {
  Put("set/a", std::string(1 << 20, 'x'));
  {
    const Result<BroughtData> held = Bring("set");
    ASSERT_TRUE(held.ok());
    TrimCache(cache_.path(), 1000, RealClock().Now());
    EXPECT_THAT(InCache(), SizeIs(1)) << "it is in use";
  }
  TrimCache(cache_.path(), 1000, RealClock().Now());
  EXPECT_THAT(InCache(), IsEmpty());
}

}  // namespace
}  // namespace tune::testing
