// What comes beside the stream: packages, checkpoints and logs.
#include "core/limits.h"
#include "trial_runner/wire/decode.h"
#include "trial_runner/wire/decode_fields.h"

namespace tune {

Status Read(v1::FetchRequest& in, FetchRequest& out) {
  TUNE_RETURN_IF_ERROR(Read(in.package(), "fetch.package", out.package));
  return ReadInt(in.offset(), 0, out.package.bytes, "fetch.offset", out.offset);
}

Status Read(v1::FetchPiece& in, std::string& text) {
  if (in.text().empty()) return InvalidArgument("piece.text: expected at least one byte");
  return ReadText(in.mutable_text(), limits::kPackagePieceBytes, "piece.text", text);
}

namespace {

Status Read(const v1::SeeNonce& in, SeeNonce& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.sweep(), 0, kAny, "see.sweep", out.sweep.value));
  out.is_of_programs = in.is_of_programs();
  return ReadDigits(in.nonce(), kNonceBytes, "see.nonce", out.nonce);
}

Status Read(v1::PutCheckpoint& in, PutCheckpoint& out) {
  if (!in.has_ref()) return Absent("put.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("put"));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_name(), limits::kNameBytesMax, "put.name", out.name));
  return Read(in.text(), "put.text", out.text, kAny);
}

Status Read(v1::GetCheckpoint& in, GetCheckpoint& out) {
  if (!in.has_ref()) return Absent("get.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("get"));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_path(), "get.path", out.path));
  return ReadInt(in.offset(), 0, kAny, "get.offset", out.offset);
}

Status Read(v1::PutLog& in, PutLog& out) {
  if (!in.has_ref()) return Absent("log.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("log"));
  TUNE_RETURN_IF_ERROR(ReadInt(in.rank(), 0, kAny, "log.rank", out.rank));
  TUNE_RETURN_IF_ERROR(
      ReadInt(in.offset(), 0, limits::kAttemptLogBytesMax, "log.offset", out.offset));
  return ReadText(in.mutable_text(), limits::kPackagePieceBytes, "log.text", out.text);
}

Status Read(v1::SignRequest& in, SignStoreRequest& out) {
  if (!in.has_ref()) return Absent("sign.ref");
  TUNE_RETURN_IF_ERROR(Read(in.ref(), out.ref).At("sign"));
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_method(), limits::kNameBytesMax, "sign.method", out.method));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_key(), limits::kS3KeyBytesMax, "sign.key", out.key));
  constexpr size_t kPairsMax = 8;
  TUNE_RETURN_IF_ERROR(CheckCount(in.query_size(), kPairsMax, "sign.query"));
  for (v1::QueryPair& pair : *in.mutable_query()) {
    auto& [name, value] = out.query.emplace_back();
    TUNE_RETURN_IF_ERROR(
        ReadText(pair.mutable_name(), limits::kNameBytesMax, "sign.query.name", name));
    TUNE_RETURN_IF_ERROR(
        ReadText(pair.mutable_value(), limits::kS3KeyBytesMax, "sign.query.value", value));
  }
  if (in.sha256().empty()) return OkStatus();
  return ReadDigits(in.sha256(), 64, "sign.sha256", out.sha256);
}

}  // namespace

Status Read(v1::CheckpointCall& in, CheckpointCall& out) {
  TUNE_RETURN_IF_ERROR(
      ReadText(in.mutable_session(), limits::kNameBytesMax, "session", out.session));
  switch (in.what_case()) {
    case v1::CheckpointCall::kSee:
      return Read(in.see(), out.what.emplace<SeeNonce>());
    case v1::CheckpointCall::kPut:
      return Read(*in.mutable_put(), out.what.emplace<PutCheckpoint>());
    case v1::CheckpointCall::kGet:
      return Read(*in.mutable_get(), out.what.emplace<GetCheckpoint>());
    case v1::CheckpointCall::kLog:
      return Read(*in.mutable_log(), out.what.emplace<PutLog>());
    case v1::CheckpointCall::kSign:
      return Read(*in.mutable_sign(), out.what.emplace<SignStoreRequest>());
    case v1::CheckpointCall::WHAT_NOT_SET:
      break;
  }
  return Absent("what");
}

Status Read(v1::CheckpointAnswer& in, CheckpointAnswer& out) {
  out.is_seen = in.seen();
  TUNE_RETURN_IF_ERROR(ReadInt(in.offset(), 0, kAny, "answer.offset", out.offset));
  TUNE_RETURN_IF_ERROR(ReadPath(in.mutable_path(), "answer.path", out.path));
  TUNE_RETURN_IF_ERROR(ReadText(in.mutable_url(), limits::kSpecBytesMax, "answer.url", out.url));
  return in.has_text() ? Read(in.text(), "answer.text", out.text, kAny) : OkStatus();
}

}  // namespace tune
