#include "trial_runner/bucket/s3_answers.h"

#include <time.h>

#include <array>
#include <charconv>
#include <pugixml.hpp>

#include "core/utf8.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

Result<pugi::xml_document> ParseXml(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(
      xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata_single);
  if (!parsed)
    return Unavailable(std::string("the store's answer is no XML: ") + parsed.description());
  return document;
}

std::string TextOf(const pugi::xml_node& node, const char* name) { return node.child_value(name); }

int64_t NumberOf(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Keys come encoded where the store was asked for it and says so.
std::string KeyOf(const pugi::xml_node& node, bool is_encoded) {
  const std::string key = TextOf(node, "Key");
  return is_encoded ? DecodeFromUrl(key) : key;
}

bool IsAnyOf(std::string_view code, std::initializer_list<std::string_view> codes) {
  for (const std::string_view one : codes) {
    if (code == one) return true;
  }
  return false;
}

std::string CodeOfStatus(int http_status) {
  switch (http_status) {
    case 301:
    case 307:
      return "PermanentRedirect";
    case 403:
      return "AccessDenied";
    case 404:
      return "NoSuchKey";
    case 409:
      return "OperationAborted";
    case 412:
      return "PreconditionFailed";
    case 416:
      return "InvalidRange";
    case 429:
    case 503:
      return "SlowDown";
    case 501:
      return "NotImplemented";
    case 507:
      return "InsufficientStorage";
    default:
      return "HTTP " + std::to_string(http_status);
  }
}

S3Failure FailureOf(int http_status, std::string_view code) {
  if (IsAnyOf(code, {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"})) {
    return S3Failure::kCredential;
  }
  if (IsAnyOf(code, {"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded",
                     "TooManyRequests", "BandwidthLimitExceeded"})) {
    return S3Failure::kThrottled;
  }
  if (IsAnyOf(code,
              {"RequestTimeout", "InternalError", "OperationAborted", "ConditionalRequestConflict",
               "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody"})) {
    return S3Failure::kServer;  // The bytes were changed on their way, or others were quicker.
  }
  if (http_status == 501 || http_status == 507) return S3Failure::kRefused;
  if (http_status == 429) return S3Failure::kThrottled;
  return http_status >= 500 ? S3Failure::kServer : S3Failure::kRefused;
}

// How far this machine's clock is from the store's.
std::string DescribeSkew(const S3Reply& reply, Instant now) {
  const std::optional<Instant> there = ParseS3Time(reply.date);
  if (!there) return "";
  const bool is_ahead = now > *there;
  const Duration difference = is_ahead ? now - *there : *there - now;
  return ": this machine's clock is " + FormatDuration(difference) +
         (is_ahead ? " ahead of" : " behind") + " the store's (" +
         FormatInstant(*there).substr(0, 19) + "Z); set it right (NTP)";
}

std::string RemedyOf(std::string_view code, const S3Reply& reply, Instant now) {
  if (code == "RequestTimeTooSkewed") return DescribeSkew(reply, now);
  if (code == "InvalidRange") return "; the object ends before that";
  if (code == "NoSuchBucket") return "; make the bucket, or name another one";
  if (code == "SignatureDoesNotMatch") {
    return "; the secret access key is another one than the store has for this access key id";
  }
  if (code == "InvalidAccessKeyId") return "; the store does not know this access key id";
  if (code == "AccessDenied" || code == "AllAccessDisabled") {
    return "; these credentials may not do that: they need s3:GetObject, PutObject, DeleteObject, "
           "ListBucket and AbortMultipartUpload there";
  }
  if (IsAnyOf(code, {"PermanentRedirect", "AuthorizationHeaderMalformed"})) {
    return reply.region.empty() ? "; set AWS_REGION to the bucket's region"
                                : "; set AWS_REGION=" + reply.region;
  }
  return "";
}

}  // namespace

bool HasS3Error(std::string_view body) {
  if (body.empty()) return false;
  const Result<pugi::xml_document> document = ParseXml(body);
  return document.ok() && document->child("Error");
}

S3Error JudgeS3Reply(const S3Reply& reply) {
  if (reply.http_status == 0) return {S3Failure::kBroken, "", reply.broken};
  if (reply.http_status >= 200 && reply.http_status < 300) return {};
  S3Error error;
  error.code = CodeOfStatus(reply.http_status);
  const Result<pugi::xml_document> document = ParseXml(reply.body);
  if (document.ok()) {
    // {<Error><Code>} of S3, <ErrorResponse><Error><Code> of STS.
    pugi::xml_node node = document->child("Error");
    if (!node) node = document->child("ErrorResponse").child("Error");
    if (const std::string code = TextOf(node, "Code"); !code.empty()) error.code = code;
    error.message = ToUtf8(TextOf(node, "Message"));
  }
  error.failure = FailureOf(reply.http_status, error.code);
  return error;
}

Status S3ErrorStatus(const S3Error& error, const S3Reply& reply, std::string_view doing,
                     Instant now) {
  std::string text = "cannot " + std::string(doing) + ": ";
  if (error.failure == S3Failure::kBroken) return Unavailable(text + error.message);
  text += error.code;
  if (!error.message.empty() && error.message != error.code) text += " (" + error.message + ")";
  text += RemedyOf(error.code, reply, now);
  if (IsAnyOf(error.code, {"NoSuchKey", "NoSuchUpload"})) return NotFound(text);
  if (error.code == "InvalidRange") return DataLoss(text);
  if (IsAnyOf(error.code, {"PreconditionFailed", "NotImplemented"}))
    return FailedPrecondition(text);
  if (IsAnyOf(error.code, {"InsufficientStorage", "QuotaExceeded", "XMinioStorageFull"})) {
    return ResourceExhausted(text);
  }
  return error.failure == S3Failure::kRefused ? InvalidArgument(text) : Unavailable(text);
}

Result<S3List> ParseS3List(std::string_view xml) {
  TUNE_ASSIGN_OR_RETURN(const pugi::xml_document document, ParseXml(xml));
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) return Unavailable("the store's answer is no list of objects");
  const bool is_encoded = TextOf(root, "EncodingType") == "url";
  S3List list;
  for (const pugi::xml_node& node : root.children("Contents")) {
    list.objects.push_back({KeyOf(node, is_encoded), NumberOf(TextOf(node, "Size")),
                            ParseS3Time(TextOf(node, "LastModified")).value_or(Instant{}),
                            TextOf(node, "ETag")});
  }
  if (TextOf(root, "IsTruncated") == "true") list.next = TextOf(root, "NextContinuationToken");
  return list;
}

Result<S3Uploads> ParseS3Uploads(std::string_view xml) {
  TUNE_ASSIGN_OR_RETURN(const pugi::xml_document document, ParseXml(xml));
  const pugi::xml_node root = document.child("ListMultipartUploadsResult");
  if (!root) return Unavailable("the store's answer is no list of uploads");
  const bool is_encoded = TextOf(root, "EncodingType") == "url";
  S3Uploads list;
  for (const pugi::xml_node& node : root.children("Upload")) {
    list.uploads.push_back({KeyOf(node, is_encoded), TextOf(node, "UploadId"),
                            ParseS3Time(TextOf(node, "Initiated")).value_or(Instant{})});
  }
  if (TextOf(root, "IsTruncated") == "true") {
    list.next_key = TextOf(root, "NextKeyMarker");
    if (is_encoded) list.next_key = DecodeFromUrl(list.next_key);
    list.next_id = TextOf(root, "NextUploadIdMarker");
  }
  return list;
}

Result<std::string> ParseS3UploadId(std::string_view xml) {
  TUNE_ASSIGN_OR_RETURN(const pugi::xml_document document, ParseXml(xml));
  std::string id = TextOf(document.child("InitiateMultipartUploadResult"), "UploadId");
  if (id.empty()) return Unavailable("the store's answer has no UploadId");
  return id;
}

std::optional<Instant> ParseS3Time(std::string_view text) {
  const std::string whole(text);
  for (const char* const format : {"%Y-%m-%dT%H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT"}) {
    struct tm parts = {};
    if (strptime(whole.c_str(), format, &parts) != nullptr) {
      return Instant{static_cast<int64_t>(timegm(&parts)) * 1'000'000};
    }
  }
  return std::nullopt;
}

}  // namespace tune
