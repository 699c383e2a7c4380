#include "trial_runner/bucket/s3_client.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "trial_runner/package/sha256.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

// A request that is tried again for the third time, or has hung, is worth telling.
constexpr int kTroubleTries = 3;
// Longer than a part takes to set off, clocks askew included.
constexpr Duration kPresignedFor = Seconds(900);

std::string Sha256OfBody(std::string_view body) {
  if (body.empty()) return std::string(kSha256OfNothing);
  Sha256 hash;
  hash.Add(body);
  return hash.Finish();
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

S3Client::S3Client(std::string bucket, Parts parts)
    : bucket_(std::move(bucket)), parts_(std::move(parts)) {
  const S3Settings& settings = parts_.settings;
  std::string endpoint = settings.endpoint;
  if (endpoint.empty()) endpoint = "https://s3." + settings.region + ".amazonaws.com";
  const size_t after_scheme = endpoint.find("://") + 3;
  scheme_ = endpoint.substr(0, after_scheme);
  host_ = endpoint.substr(after_scheme);
  std::string base;  // A gateway's path in front of all.
  if (const size_t slash = host_.find('/'); slash != std::string::npos) {
    base = host_.substr(slash);
    host_.resize(slash);
  }
  // What certificates are for has no further dot.
  const bool is_virtual = settings.is_virtual_host && bucket_.find('.') == std::string::npos;
  if (is_virtual) host_ = bucket_ + "." + host_;
  before_ = base + (is_virtual ? "" : "/" + bucket_);
}

Result<std::shared_ptr<S3Client>> S3Client::Make(const std::string& bucket) {
  static const WallClock clock;
  static const AwakeClock awake;
  const AwsSurroundings surroundings = RealAwsSurroundings();
  TUNE_ASSIGN_OR_RETURN(S3Settings settings, ReadS3Settings(surroundings));
  TUNE_ASSIGN_OR_RETURN(std::shared_ptr<HttpTransport> transport,
                        CurlTransport::Make({settings.ca_file}));
  auto credentials = std::make_shared<S3CredentialSource>(surroundings, settings, transport, clock);
  return std::make_shared<S3Client>(
      bucket, Parts{std::move(settings), std::move(transport), std::move(credentials), clock, awake,
                    &WaitUnlessStopped, DrawEntropy()});
}

Result<std::shared_ptr<S3Client>> S3Client::MakeWithout(const std::string& bucket,
                                                        S3Presigner presign) {
  static const WallClock clock;
  static const AwakeClock awake;
  const Result<S3Settings> settings = ReadS3Settings(RealAwsSurroundings());
  TUNE_ASSIGN_OR_RETURN(std::shared_ptr<HttpTransport> transport,
                        CurlTransport::Make({settings.ok() ? settings->ca_file : ""}));
  return std::make_shared<S3Client>(bucket, Parts{{},
                                                  std::move(transport),
                                                  nullptr,
                                                  clock,
                                                  awake,
                                                  &WaitUnlessStopped,
                                                  DrawEntropy(),
                                                  std::move(presign)});
}

// Who signs knows where the store is.
std::string S3Client::Describe() const {
  return std::string(kS3Scheme) + bucket_ + (parts_.presign ? "" : " at " + scheme_ + host_);
}

std::string S3Client::Doing(const Request& request) const {
  return std::string(request.doing) + " " + S3Address{bucket_, request.key}.ToUrl() +
         (parts_.presign ? "" : " at " + scheme_ + host_);
}

std::string S3Client::PathOf(const std::string& key) const {
  return key.empty() && !before_.empty() ? before_ : before_ + "/" + EncodeForUrl(key, true);
}

Result<HttpExchange> S3Client::Signed(const Request& request, const std::stop_token& stop) {
  if (parts_.presign) {
    const bool sends = request.method == "PUT" || request.method == "POST";
    S3ToSign to_sign{request.method, request.key, request.query, sends ? request.sha256 : ""};
    TUNE_ASSIGN_OR_RETURN(std::string url, parts_.presign(to_sign, stop));
    HttpExchange exchange{request.method, std::move(url), request.headers, request.body};
    if (sends) exchange.headers.emplace_back("x-amz-content-sha256", request.sha256);
    return exchange;
  }
  TUNE_ASSIGN_OR_RETURN(const S3Credentials credentials, parts_.credentials->Get(stop));
  S3Request to_sign{request.method, PathOf(request.key), request.query, request.headers,
                    request.sha256};
  const std::string date = AmazonDate(parts_.clock.Now());
  to_sign.headers.emplace_back("host", host_);
  to_sign.headers.emplace_back("x-amz-content-sha256", request.sha256);
  to_sign.headers.emplace_back("x-amz-date", date);
  if (!credentials.session_token.empty()) {
    to_sign.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  HttpExchange exchange{request.method, scheme_ + host_ + to_sign.path, to_sign.headers,
                        request.body};
  if (!request.query.empty()) exchange.url += "?" + CanonicalQuery(request.query);
  exchange.headers.emplace_back(
      "authorization", SignRequest(to_sign, credentials, parts_.settings.region, "s3", date));
  return exchange;
}

Result<std::string> S3Client::Presign(const S3ToSign& request, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const S3Credentials credentials, parts_.credentials->Get(stop));
  S3Request whole{
      request.method, PathOf(request.key), request.query, {{"host", host_}}, request.sha256};
  if (!request.sha256.empty()) whole.headers.emplace_back("x-amz-content-sha256", request.sha256);
  const S3Pairs query = PresignQuery(whole, credentials, parts_.settings.region, "s3",
                                     AmazonDate(parts_.clock.Now()), kPresignedFor);
  return scheme_ + host_ + whole.path + "?" + CanonicalQuery(query);
}

Result<S3Reply> S3Client::AskOnce(const Request& request, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(HttpExchange exchange, Signed(request, stop));
  if (patience_) exchange.silence = std::min(exchange.silence, Duration{patience_->us / 2});
  exchange.quiet = quiet_;
  if (on_trouble_) {
    exchange.on_quiet = [&] {
      on_trouble_(Unavailable("cannot " + Doing(request) + ": nothing has come for " +
                              FormatDuration(quiet_)));
    };
  }
  if (request.taker != nullptr) {
    request.taker->begin();
    exchange.take = request.taker->take;
  }
  return parts_.transport->Do(exchange, stop);
}

namespace {

// A store may say with status 200 that it could not do it, when it comes to know of that late; and
// what lies before a store answers at times in its place: a proxy whose store restarts knows no
// object, and an object that is believed to be gone is given up.
void Doubt(const std::string& method, const std::string& key, S3Reply& reply) {
  if (reply.http_status == 404 && method == "GET" && !HasS3Error(reply.body)) {
    reply.broken = "the answer 404 has no error of S3's: it is not from an object store";
    reply.http_status = 0;
    return;
  }
  const bool is_said = reply.http_status >= 200 && reply.http_status < 300;
  if (!is_said || method == "GET" || method == "HEAD") return;
  if (HasS3Error(reply.body)) {
    reply.http_status = 500;
  } else if (method == "PUT" && !key.empty() && reply.etag.empty()) {
    reply.broken = "the answer has no ETag: it is not from an object store";
    reply.http_status = 0;
  }
}

}  // namespace

Result<S3Reply> S3Client::Ask(const Request& request, const std::stop_token& stop) {
  Request whole = request;
  if (whole.sha256.empty()) whole.sha256 = Sha256OfBody(whole.body);
  KeyedRandom random(parts_.seed, "s3", request_count_.fetch_add(1));
  const Instant asked = parts_.awake.Now();
  for (int failed_tries = 1;; ++failed_tries) {
    const Instant begun = parts_.awake.Now();
    TUNE_ASSIGN_OR_RETURN(S3Reply reply, AskOnce(whole, stop));
    Doubt(whole.method, whole.key, reply);
    if (stop.stop_requested()) {
      return Unavailable("cannot " + Doing(request) + ": given up before an answer came");
    }
    const S3Error error = JudgeS3Reply(reply);
    if (error.failure == S3Failure::kNone) {
      budget_.GiveBack();
      return reply;
    }
    if (error.failure == S3Failure::kCredential && parts_.credentials != nullptr) {
      parts_.credentials->Forget();
    }
    const std::optional<Duration> pause = RetryPause(error.failure, failed_tries, random);
    const Instant now = parts_.awake.Now();
    const Status failed = S3ErrorStatus(error, reply, Doing(request), parts_.clock.Now());
    if (!pause || !budget_.Take() || (patience_ && now - asked >= *patience_)) return failed;
    const bool is_trouble = failed_tries >= kTroubleTries || now - begun >= kTroubleTime;
    if (is_trouble && on_trouble_) on_trouble_(failed);
    if (!parts_.wait(*pause, stop)) return failed;
  }
}

Status S3Client::Put(const std::string& key, std::string_view bytes, const PutOptions& options,
                     const std::stop_token& stop) {
  Request request{"PUT", key, {}, {}, bytes, options.sha256};
  request.doing = "write";
  if (options.is_new) request.headers.emplace_back("if-none-match", "*");
  return Ask(request, stop).status();
}

Result<std::string> S3Client::Get(const std::string& key, const std::stop_token& stop) {
  Request request{"GET", key};
  request.doing = "read";
  TUNE_ASSIGN_OR_RETURN(S3Reply reply, Ask(request, stop));
  return std::move(reply.body);
}

Status S3Client::GetRange(const std::string& key, int64_t offset, int64_t bytes,
                          const RangeTaker& taker, const std::stop_token& stop) {
  if (bytes == 0) return OkStatus();
  Request request{"GET", key};
  request.doing = "read";
  request.headers.emplace_back(
      "range", "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + bytes - 1));
  if (!taker.etag.empty()) request.headers.emplace_back("if-match", taker.etag);
  int64_t taken = 0;
  const RangeTaker counted{[&] {
                             taken = 0;
                             taker.begin();
                           },
                           [&](std::string_view piece) {
                             taken += static_cast<int64_t>(piece.size());
                             return taken <= bytes && taker.take(piece);
                           }};
  request.taker = &counted;
  TUNE_ASSIGN_OR_RETURN(const S3Reply reply, Ask(request, stop));
  if (taker.is_encrypted != nullptr) *taker.is_encrypted = reply.is_encrypted;
  if (taken == bytes) return OkStatus();
  const std::string text = "cannot " + Doing(request) + ": " + std::to_string(taken) +
                           " bytes came of " + std::to_string(bytes);
  // The store says itself that there are no more of them: no try will bring more.
  return reply.content_bytes == taken ? DataLoss(text) : Unavailable(text);
}

Result<std::optional<int64_t>> S3Client::Head(const std::string& key, const std::stop_token& stop) {
  Request request{"HEAD", key};
  request.doing = "look at";
  Result<S3Reply> reply = Ask(request, stop);
  if (reply.status().code() == StatusCode::kNotFound) return std::optional<int64_t>();
  if (!reply.ok()) return reply.status();
  return std::optional(reply->content_bytes);
}

Status S3Client::Delete(const std::string& key, const std::stop_token& stop) {
  Request request{"DELETE", key};
  request.doing = "remove";
  const Status removed = Ask(request, stop).status();
  return removed.code() == StatusCode::kNotFound ? OkStatus() : removed;
}

Result<std::vector<S3Object>> S3Client::List(const std::string& prefix,
                                             const std::stop_token& stop) {
  std::vector<S3Object> objects;
  std::string token;
  do {
    Request request{"GET"};
    request.doing = "list";
    request.query = {{"list-type", "2"}, {"prefix", prefix}, {"encoding-type", "url"}};
    if (!token.empty()) request.query.emplace_back("continuation-token", token);
    TUNE_ASSIGN_OR_RETURN(const S3Reply reply, Ask(request, stop));
    TUNE_ASSIGN_OR_RETURN(S3List list, ParseS3List(reply.body));
    objects.insert(objects.end(), std::make_move_iterator(list.objects.begin()),
                   std::make_move_iterator(list.objects.end()));
    if (list.next == token && !token.empty()) {
      return Unavailable("cannot " + Doing(request) + ": the store gives the same page again");
    }
    token = std::move(list.next);
  } while (!token.empty());
  return objects;
}

Result<std::string> S3Client::BeginUpload(const std::string& key, const std::stop_token& stop) {
  Request request{"POST", key, {{"uploads", ""}}};
  request.doing = "begin to write";
  TUNE_ASSIGN_OR_RETURN(const S3Reply reply, Ask(request, stop));
  return ParseS3UploadId(reply.body);
}

Result<S3Part> S3Client::PutPart(const std::string& key, const std::string& upload, int64_t number,
                                 std::string_view bytes, const std::string& sha256,
                                 const std::stop_token& stop) {
  Request request{"PUT", key,   {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                  {},    bytes, sha256};
  request.doing = "write a part of";
  TUNE_ASSIGN_OR_RETURN(S3Reply reply, Ask(request, stop));
  return S3Part{number, std::move(reply.etag)};
}

Status S3Client::CompleteUpload(const std::string& key, const std::string& upload,
                                const std::vector<S3Part>& parts, const std::stop_token& stop) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const S3Part& part : parts) {
    body += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" +
            EscapeXml(part.etag) + "</ETag></Part>";
  }
  body += "</CompleteMultipartUpload>";
  Request request{"POST", key, {{"uploadId", upload}}, {}, body};
  request.doing = "finish writing";
  return Ask(request, stop).status();
}

Status S3Client::AbortUpload(const std::string& key, const std::string& upload,
                             const std::stop_token& stop) {
  Request request{"DELETE", key, {{"uploadId", upload}}};
  request.doing = "abort writing";
  const Status aborted = Ask(request, stop).status();
  return aborted.code() == StatusCode::kNotFound ? OkStatus() : aborted;
}

Result<std::vector<S3Upload>> S3Client::ListUploads(const std::string& prefix,
                                                    const std::stop_token& stop) {
  std::vector<S3Upload> uploads;
  std::string key, id;
  std::string asked = prefix;
  while (true) {
    Request request{"GET"};
    request.doing = "list the uploads of";
    // Without an encoding: Ceph does not say whether it has encoded them.
    request.query = {{"uploads", ""}, {"prefix", asked}};
    if (!key.empty()) request.query.emplace_back("key-marker", key);
    if (!id.empty()) request.query.emplace_back("upload-id-marker", id);
    TUNE_ASSIGN_OR_RETURN(const S3Reply reply, Ask(request, stop));
    // MinIO takes the prefix for a whole key; without one it lists all.
    if (!asked.empty() && reply.server.starts_with("MinIO")) {
      asked.clear();
      continue;
    }
    TUNE_ASSIGN_OR_RETURN(S3Uploads page, ParseS3Uploads(reply.body));
    const bool is_stuck = !page.next_key.empty() && page.next_key == key && page.next_id == id;
    for (S3Upload& upload : page.uploads) {
      if (upload.key.starts_with(prefix)) uploads.push_back(std::move(upload));
    }
    if (is_stuck || page.next_key.empty()) return uploads;
    key = std::move(page.next_key);
    id = std::move(page.next_id);
  }
}

}  // namespace tune
