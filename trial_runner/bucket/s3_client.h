// Asks an object store: one bucket of it, by S3's protocol ("Amazon S3 API Reference"). Each
// request is signed, and tried again as s3_retries.h says.
//
// Errors are S3ErrorStatus's; kUnavailable too when `stop` was requested.
//
// Thread rule: any thread, several at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/http_transport.h"
#include "trial_runner/bucket/s3_answers.h"
#include "trial_runner/bucket/s3_retries.h"
#include "trial_runner/bucket/s3_settings.h"

namespace tune {

struct S3Part {
  int64_t number = 0;  // From 1.
  std::string etag;
};

// A request that somebody else signs.
struct S3ToSign {
  std::string method;
  std::string key;
  S3Pairs query = {};
  std::string sha256 = {};  // Of what it sends, which is then all that it can send; empty: nothing.
};
// Its address, which the store takes without credentials for a while.
using S3Presigner = std::function<Result<std::string>(const S3ToSign&, const std::stop_token&)>;

class S3Client {
 public:
  struct Parts {
    S3Settings settings;
    std::shared_ptr<HttpTransport> transport;
    std::shared_ptr<S3CredentialSource> credentials;
    const Clock& clock;  // Dates requests: the store compares it with its own.
    const Clock& awake;  // Measures how long a request takes; nobody sets it.
    // Waits; false: `stop` was requested.
    std::function<bool(Duration, const std::stop_token&)> wait;
    uint64_t seed = 0;  // Of the pauses between tries.
    // In the place of credentials: the whole address, which somebody has signed; null: none.
    S3Presigner presign = {};
  };
  S3Client(std::string bucket, Parts parts);
  // Of this process's environment and its network. Asks nobody.
  static Result<std::shared_ptr<S3Client>> Make(const std::string& bucket);

  // The same without credentials. Of its requests' headers none is signed but the SHA-256 of what
  // they send.
  static Result<std::shared_ptr<S3Client>> MakeWithout(const std::string& bucket,
                                                       S3Presigner presign);
  // An S3Presigner with this client's credentials.
  Result<std::string> Presign(const S3ToSign& request, const std::stop_token& stop);

  // Called, on the thread that asks, while a request that keeps failing is still tried again, or
  // nothing of it has moved for `quiet`: a store that hangs takes minutes to be given up. To be set
  // before the first request, as the other one.
  using OnTrouble = std::function<void(const Status&)>;
  void SetOnTrouble(OnTrouble on_trouble, Duration quiet = kTroubleTime) {
    on_trouble_ = std::move(on_trouble);
    quiet_ = quiet;
  }
  // For somebody who waits: a request that has failed for so long is not tried again, and one in
  // which nothing moves is given up after half of that.
  void SetPatience(Duration patience) { patience_ = patience; }
  static constexpr Duration kTroubleTime = Seconds(10);

  const std::string& bucket() const { return bucket_; }
  // For messages: "s3://bucket at http://127.0.0.1:9000".
  std::string Describe() const;

  // `sha256`: of the bytes, where it is known. `is_new`: kFailedPrecondition where there is such a
  // key (stores that take conditional writes).
  struct PutOptions {
    std::string sha256 = {};
    bool is_new = false;
  };
  Status Put(const std::string& key, std::string_view bytes, const PutOptions& options,
             const std::stop_token& stop);
  Result<std::string> Get(const std::string& key, const std::stop_token& stop);
  // Of the bytes from `offset` on. `begin` is called before each try, then `take` gets them in
  // order, none too many. Fewer are kDataLoss where the object has no more, else kUnavailable;
  // kFailedPrecondition: it has another `etag`.
  struct RangeTaker {
    std::function<void()> begin;
    std::function<bool(std::string_view)> take;
    std::string etag = {};         // That it must have; empty: any.
    bool* is_encrypted = nullptr;  // As in S3Reply; null: nobody wants to know.
  };
  Status GetRange(const std::string& key, int64_t offset, int64_t bytes, const RangeTaker& taker,
                  const std::stop_token& stop);
  // Its size; nothing: there is no such key.
  Result<std::optional<int64_t>> Head(const std::string& key, const std::stop_token& stop);
  // One that is not there is no error.
  Status Delete(const std::string& key, const std::stop_token& stop);
  // All keys that begin so, in order.
  Result<std::vector<S3Object>> List(const std::string& prefix, const std::stop_token& stop);

  // One key in parts.
  Result<std::string> BeginUpload(const std::string& key, const std::stop_token& stop);
  Result<S3Part> PutPart(const std::string& key, const std::string& upload, int64_t number,
                         std::string_view bytes, const std::string& sha256,
                         const std::stop_token& stop);
  Status CompleteUpload(const std::string& key, const std::string& upload,
                        const std::vector<S3Part>& parts, const std::stop_token& stop);
  // One that is not there is no error.
  Status AbortUpload(const std::string& key, const std::string& upload,
                     const std::stop_token& stop);
  Result<std::vector<S3Upload>> ListUploads(const std::string& prefix, const std::stop_token& stop);

 private:
  struct Request {
    std::string method;
    std::string key = {};  // Empty: the bucket.
    S3Pairs query = {};
    S3Pairs headers = {};
    std::string_view body = {};
    std::string sha256 = {};
    const RangeTaker* taker = nullptr;
    const char* doing = "";  // "read", for messages.
  };
  Result<S3Reply> Ask(const Request& request, const std::stop_token& stop);
  Result<S3Reply> AskOnce(const Request& request, const std::stop_token& stop);
  Result<HttpExchange> Signed(const Request& request, const std::stop_token& stop);
  std::string PathOf(const std::string& key) const;
  std::string Doing(const Request& request) const;

  const std::string bucket_;
  const Parts parts_;
  std::string scheme_, host_, before_;  // "https://", its host, "/bucket" in front of keys.
  RetryBudget budget_;
  OnTrouble on_trouble_;
  Duration quiet_;
  std::optional<Duration> patience_;
  std::atomic<uint64_t> request_count_{0};
};

}  // namespace tune
