#include "trial_runner/bucket/bucket_claim.h"

#include "core/hash.h"
#include "core/json.h"
#include "core/utf8.h"
#include "trial_runner/s3_address.h"

namespace tune {
namespace {

constexpr std::string_view kOwnerFormat = "tune-owner 1";

std::string EncodeOwner(const BucketOwner& owner) {
  Value value = Value::MakeMap();
  value.Set("format", Value(kOwnerFormat));
  value.Set("id", Value(owner.id()));
  value.Set("sweep", Value(owner.sweep));
  value.Set("database", Value(owner.database));
  value.Set("begun", Value(FormatInstant(owner.begun)));
  return ToJson(value) + "\n";
}

std::string OwnerText(const Value& value, std::string_view name) {
  const Value* const found = value.is_map() ? value.Find(name) : nullptr;
  return found != nullptr && found->is_string() ? ToUtf8(found->AsString()) : "";
}

// Of a sweep whose mark somebody has removed all the rest is there, and it may still run.
Status CheckIsEmpty(S3Client& client, const std::string& key, const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<S3Object> objects, client.List(key + "/", stop));
  // That of a sweep whose prefix lies in this place.
  const std::string mark = OwnerKey("");
  for (const S3Object& object : objects) {
    if (!object.key.ends_with(mark) || object.key == OwnerKey(key)) continue;
    const std::string there = object.key.substr(0, object.key.size() - mark.size());
    return FailedPrecondition(S3Address{client.bucket(), key}.ToUrl() + " has a sweep within it, " +
                              S3Address{client.bucket(), there}.ToUrl() +
                              "/owner.json says whose; give this one another name or prefix");
  }
  for (const S3Object& object : objects) {
    if (object.key.starts_with(ProbeKeys(key))) continue;
    const std::string url = S3Address{client.bucket(), key}.ToUrl();
    return FailedPrecondition(url + " has objects and no owner.json, so nobody knows whose they " +
                              "are; give the sweep another name or prefix, or remove what lies "
                              "there: aws s3 rm --recursive " +
                              url);
  }
  return OkStatus();
}

}  // namespace

std::string BucketOwner::id() const {
  return HashToHex(Xxh64(std::to_string(begun.us) + " " + std::to_string(seed)));
}

Result<std::string> CheckBucket(S3Client& client, const std::string& key, const std::string& nonce,
                                const std::stop_token& stop) {
  const std::string probe = ProbeKeys(key) + nonce;
  const std::string text = "tune looks whether it may write here: " + nonce + "\n";
  S3Client::PutOptions is_new;
  is_new.is_new = true;
  bool has_conditions = true;
  Status written = client.Put(probe, text, is_new, stop);
  if (written.code() == StatusCode::kFailedPrecondition) {  // NotImplemented.
    has_conditions = false;
    written = client.Put(probe, text, {}, stop);
  }
  TUNE_RETURN_IF_ERROR(written);
  if (has_conditions) {
    const Status again = client.Put(probe, text, is_new, stop);
    has_conditions = again.code() == StatusCode::kFailedPrecondition;
    if (!has_conditions && !again.ok()) return again;
  }
  TUNE_ASSIGN_OR_RETURN(const std::string read, client.Get(probe, stop));
  TUNE_RETURN_IF_ERROR(client.List(probe, stop).status());
  TUNE_RETURN_IF_ERROR(client.Delete(probe, stop));
  if (read != text) {
    return InvalidArgument("s3://" + client.bucket() + "/" + probe +
                           ": what was read is not what was written a moment before; expected a "
                           "store that is consistent");
  }
  if (has_conditions) return std::string();
  return client.Describe() +
         " takes no notice of If-None-Match: two sweeps of one name that begin under one prefix at "
         "the same moment would not notice one another there";
}

Status CheckOwner(S3Client& client, const std::string& key, const BucketOwner& owner,
                  const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(const std::string text, client.Get(OwnerKey(key), stop));
  const Result<Value> value = ParseJson(text);
  const std::string url = S3Address{client.bucket(), key}.ToUrl();
  if (!value.ok() || OwnerText(*value, "format") != kOwnerFormat) {
    return FailedPrecondition(url + ": its owner.json is none of this version of tune");
  }
  if (OwnerText(*value, "id") == owner.id()) return OkStatus();
  return FailedPrecondition(url + " belongs to another sweep, " + OwnerText(*value, "sweep") +
                            " of " + OwnerText(*value, "database") + ", begun " +
                            OwnerText(*value, "begun") +
                            "; give one of the two another name or prefix, or remove what lies "
                            "there: aws s3 rm --recursive " +
                            url);
}

namespace {

// Who deletes the sweep that has a place deletes all below it.
Status CheckIsWithinNoOther(S3Client& client, const std::string& key, const std::stop_token& stop) {
  for (size_t slash = key.find('/'); slash != key.npos; slash = key.find('/', slash + 1)) {
    const std::string above = key.substr(0, slash);
    const Result<std::string> text = client.Get(OwnerKey(above), stop);
    const Result<Value> value = text.ok() ? ParseJson(*text) : Result<Value>(text.status());
    // One that cannot be read, as a key's policy may have it, is nobody's who could be told of.
    if (!value.ok() || OwnerText(*value, "format") != kOwnerFormat) continue;
    return FailedPrecondition(S3Address{client.bucket(), key}.ToUrl() + " lies within " +
                              S3Address{client.bucket(), above}.ToUrl() +
                              ", which belongs to the sweep " + OwnerText(*value, "sweep") +
                              " and goes with it; give another prefix");
  }
  return OkStatus();
}

}  // namespace

Status CheckMayBegin(S3Client& client, const std::string& key, const std::stop_token& stop) {
  const Status owned = CheckOwner(client, key, BucketOwner{}, stop);  // Nobody's is like that.
  if (owned.code() != StatusCode::kNotFound) return owned;
  TUNE_RETURN_IF_ERROR(CheckIsEmpty(client, key, stop));
  return CheckIsWithinNoOther(client, key, stop);
}

Status ClaimBucket(S3Client& client, const std::string& key, const BucketOwner& owner, bool is_new,
                   const std::stop_token& stop) {
  const Status owned = CheckOwner(client, key, owner, stop);
  if (owned.code() != StatusCode::kNotFound) return owned;
  if (is_new) {
    TUNE_RETURN_IF_ERROR(CheckIsEmpty(client, key, stop));
    TUNE_RETURN_IF_ERROR(CheckIsWithinNoOther(client, key, stop));
  }
  S3Client::PutOptions if_new;
  if_new.is_new = true;
  Status put = client.Put(OwnerKey(key), EncodeOwner(owner), if_new, stop);
  if (put.ok()) return put;
  if (put.code() != StatusCode::kFailedPrecondition) return put;
  // Another one was quicker, or the store knows no conditions.
  const Status now = CheckOwner(client, key, owner, stop);
  if (now.code() != StatusCode::kNotFound) return now;
  TUNE_RETURN_IF_ERROR(client.Put(OwnerKey(key), EncodeOwner(owner), {}, stop));
  return CheckOwner(client, key, owner, stop);
}

}  // namespace tune
