#include "tuner/cli/head/head_link.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/limits.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/head.h"
#include "tuner/cli/head/remote_command.h"
#include "tuner/cli/look/attach_command.h"
#include "tuner/cli/look/found_job.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/control/control_client.h"
#include "tuner/http/page_guard.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kPatience = Milliseconds(60'000);
constexpr size_t kUploadBytes = 512 << 10;

// `key`: of the head, which goes to no worker; empty: there is none.
Result<WorkingPackage> Pack(const ExperimentSpec& spec, const std::string& db_path,
                            const std::string& key = "") {
  std::vector<Secret> secrets;
  if (!key.empty()) secrets.push_back({"the head's key", key});
  TUNE_ASSIGN_OR_RETURN(WorkingPackage package,
                        PackWorkingFolder(spec, db_path, /*listens=*/true, secrets));
  for (const std::string& warning : package.warnings) Tell("warning: " + warning);
  return package;
}

std::string SweepPath(std::string_view name) {
  return "/api/v1/sweeps/" + EncodeForUrl(name, /*keeps_slashes=*/false);
}

class HeadHere final : public HeadLink {
 public:
  HeadHere(std::string db_path, const LinkParts& parts)
      : db_path_(std::move(db_path)), parts_(parts) {}

  Status Find() override { return FindHolder().status(); }
  bool IsHere() const override { return true; }

  Result<PackageName> HandOver(const ExperimentSpec& spec) override {
    if (!Listens()) return PackageName{};
    TUNE_ASSIGN_OR_RETURN(const WorkingPackage package, Pack(spec, db_path_));
    if (package.packed == nullptr) return PackageName{};
    TUNE_RETURN_IF_ERROR(KeepPackage(*package.packed, PackagesDirOf(db_path_)));
    return package.name;
  }

  Result<ControlAnswer> Ask(ControlRequest request) override {
    TUNE_ASSIGN_OR_RETURN(const std::optional<LockHolder> head, FindHolder());
    if (!head) return NotFound(db_path_ + ": its tuner has just begun");
    request.tuner = head->pid;
    const auto is_late = [&] {
      parts_.err << DescribeHolder(*head) << " does not answer; waiting for it" << std::endl;
    };
    Result<ControlAnswer> answer =
        AskTuner(ArtifactsDirOf(db_path_), request, parts_.clock, kPatience, is_late);
    has_asked_ |= answer.status().code() != StatusCode::kNotFound;
    if (!answer.ok()) return answer.status().At(DescribeHolder(*head));
    // Another one is there by now.
    const bool is_other = answer->status.code() == StatusCode::kFailedPrecondition &&
                          answer->status.message().starts_with("meant for another tuner");
    if (is_other) return NotFound(answer->status.message());
    // It ends just now, and has it.
    if (answer->status.code() == StatusCode::kUnavailable) return answer->status;
    return answer;
  }

  Result<std::string> Again(const AgainOptions& again) override {
    return SubmitAgain(db_path_, again, parts_.clock);
  }

  Result<bool> IsJob(const std::string& name) override {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path_));
    TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindRunSweep(*database, name));
    return tune::IsJob(sweep);
  }

  int Follow(const std::string& job, std::ostream& out) override {
    return FollowJob(db_path_, job, parts_.clock, parts_.wait, out, parts_.err);
  }

  int Watch(const std::string& sweep, int /*width*/, std::ostream& out) override {
    LiveScreen screen;
    return AttachCommand({db_path_, sweep}, parts_.clock, parts_.wait, screen, out, parts_.err);
  }

  bool HasAsked() const override { return has_asked_; }

  std::string Command(const std::string& verb, const std::string& sweep) const override {
    return ShellCommand(verb, sweep, db_path_);
  }

 private:
  // Nothing: one that has just come may be it.
  Result<std::optional<LockHolder>> FindHolder() const {
    const std::optional<LockHolder> holder = FindLockHolder(db_path_);
    if (!holder) {
      return Unavailable("no head holds " + db_path_ + "; start one with tune head --db " +
                         db_path_ + ", or run the sweep alone with tune run");
    }
    if (holder->is_head) return std::optional(*holder);
    if (holder->experiment.empty()) return std::optional<LockHolder>();
    return Unavailable(db_path_ + ": is held by " + DescribeHolder(*holder) +
                       ", which runs one sweep; end it first, or choose another --db");
  }

  // Whether workers of other machines can come.
  bool Listens() const {
    const Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(ArtifactsDirOf(db_path_)));
    if (!folder.ok()) return false;
    const auto address = folder->ListenAddressOf(kHeadListening);
    return address.ok() && address->has_value();
  }

  const std::string db_path_;
  const LinkParts parts_;
  bool has_asked_ = false;
};

class HeadElsewhere final : public HeadLink {
 public:
  HeadElsewhere(HttpPlace place, const LinkParts& parts)
      : place_(std::move(place)), parts_(parts), client_(place_, kPatience) {}

  Status Find() override {
    const Instant begun = parts_.clock.Now();
    for (;;) {
      const Result<HttpReply> reply = client_.Get("/api/v1/sweeps");
      if (reply.ok() && reply->status == 200) return OkStatus();
      const Status status = reply.ok() ? ErrorOfReply(*reply) : reply.status();
      const bool may_come = status.code() == StatusCode::kUnavailable && client_.has_connected() &&
                            parts_.clock.Now() < begun + kPatience;
      if (!may_come || !parts_.wait(Milliseconds(200))) return status.At(Named());
    }
  }
  bool IsHere() const override { return false; }

  Result<PackageName> HandOver(const ExperimentSpec& spec) override {
    const std::string beside = TemporaryFolderPath() / "tune.db";
    TUNE_ASSIGN_OR_RETURN(const WorkingPackage package, Pack(spec, beside, place_.key));
    if (package.packed == nullptr) return PackageName{};
    TUNE_RETURN_IF_ERROR(Upload(*package.packed).At(Named()));
    return package.name;
  }

  Result<ControlAnswer> Ask(ControlRequest request) override {
    request.tuner = 1;  // Which process it is, is known there.
    Result<HttpReply> reply =
        client_.Post(std::string(kSubmissionsPath), "application/json", EncodeRequest(request));
    if (!reply.ok()) return reply.status().At(Named());
    Result<ControlAnswer> answer = DecodeAnswer(reply->body);
    if (!answer.ok()) return ErrorOfReply(*reply).At(Named());
    if (answer->status.code() == StatusCode::kUnavailable) return answer->status.At(Named());
    return answer;
  }

  // The earlier one is there, so it is its server that submits.
  Result<std::string> Again(const AgainOptions& again) override {
    const Result<HttpReply> reply =
        client_.Post(SweepPath(again.sweep) + "/actions", "application/json", EncodeAgain(again));
    if (!reply.ok()) return reply.status().At(Named());
    const Result<ControlAnswer> answer = DecodeAnswer(reply->body);
    if (!answer.ok()) return ErrorOfReply(*reply).At(Named());
    TUNE_RETURN_IF_ERROR(answer->status);
    if (answer->lines.empty()) return Internal("the head's answer names no sweep");
    return answer->lines.front();
  }

  Result<bool> IsJob(const std::string& name) override {
    const Result<HttpReply> reply = client_.Get(SweepPath(name));
    if (!reply.ok()) return reply.status().At(Named());
    if (reply->status != 200) return ErrorOfReply(*reply).At(Named());
    const Result<Value> sweep = ParseJson(reply->body);
    const Value* const job = sweep.ok() && sweep->is_map() ? sweep->Find("job") : nullptr;
    if (job == nullptr) return Internal("its answer cannot be read").At(Named());
    return !job->is_null();
  }

  int Follow(const std::string& job, std::ostream& out) override {
    return RunRemoteCommand(place_, {"logs", job, "--follow", "--exit-status"}, 0, parts_.wait, out,
                            parts_.err, /*was_there=*/true);
  }

  int Watch(const std::string& sweep, int width, std::ostream& out) override {
    return RunRemoteCommand(place_, {"attach", sweep}, width, parts_.wait, out, parts_.err,
                            /*was_there=*/true);
  }

  // It was there when it was looked for.
  bool HasAsked() const override { return true; }

  std::string Command(const std::string& verb, const std::string& sweep) const override {
    return ShellCommand(verb, sweep, "tune.db");
  }

 private:
  std::string Named() const { return "the head at " + place_.address.ToText(); }

  Result<int64_t> Have(const HttpReply& reply) const {
    if (reply.status != 200) return ErrorOfReply(reply);
    const Result<Value> body = ParseJson(reply.body);
    const Value* const have = body.ok() && body->is_map() ? body->Find("have") : nullptr;
    if (have == nullptr || !have->is_int()) return Internal("its answer cannot be read");
    return have->AsInt();
  }

  // What it has already is not sent again. A connection that breaks is made again.
  Status Upload(const PackedFolder& package) {
    const PackageName& name = package.name();
    const std::string target =
        std::string(kPackagesPath) + name.sha256 + "?bytes=" + std::to_string(name.bytes);
    const Instant begun = parts_.clock.Now();
    Instant moved = begun;
    int64_t at = -1;
    while (at < name.bytes) {
      Result<HttpReply> reply = Unavailable("");
      if (at < 0) {
        reply = client_.Get(target);
      } else {
        TUNE_ASSIGN_OR_RETURN(std::string piece, package.Read(at, kUploadBytes));
        reply = client_.Post(target + "&from=" + std::to_string(at), "application/octet-stream",
                             std::move(piece));
      }
      const bool is_there = reply.ok() && reply->status != 503 && reply->status != 409;
      if (!is_there) {
        const Status status = reply.ok() ? ErrorOfReply(*reply) : reply.status();
        const bool may_come = reply.ok() || status.code() == StatusCode::kUnavailable;
        if (!may_come || parts_.clock.Now() >= moved + kPatience) return status;
        if (!parts_.wait(Milliseconds(200))) return Unavailable("the upload was ended");
        at = -1;
        continue;
      }
      TUNE_ASSIGN_OR_RETURN(const int64_t have, Have(*reply));
      if (have > at) moved = parts_.clock.Now();
      at = have;
      SayProgress(at, name.bytes, begun);
    }
    return OkStatus();
  }

  void SayProgress(int64_t at, int64_t bytes, Instant begun) {
    const Instant now = parts_.clock.Now();
    const bool is_due =
        now >= std::max(begun, said_at_) + Seconds(2) || (said_at_.us > 0 && at == bytes);
    if (!is_due) return;
    said_at_ = now;
    parts_.err << "sending the folder: " << at / (1 << 20) << " of " << bytes / (1 << 20) << " MiB"
               << std::endl;
  }

  const HttpPlace place_;
  const LinkParts parts_;
  HttpClient client_;
  Instant said_at_;
};

}  // namespace

std::unique_ptr<HeadLink> LinkToHeadOf(const std::string& db_path, const LinkParts& parts) {
  return std::make_unique<HeadHere>(db_path, parts);
}

std::unique_ptr<HeadLink> LinkToHeadAt(const HttpPlace& place, const LinkParts& parts) {
  return std::make_unique<HeadElsewhere>(place, parts);
}

}  // namespace tune
