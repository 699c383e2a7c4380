#include "tuner/cli/head/client_api.h"

#include <algorithm>
#include <charconv>

#include "core/json.h"
#include "core/limits.h"
#include "trial_runner/package/package_upload.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/command_output.h"
#include "tuner/cli/head/remote_command.h"
#include "tuner/cli/run/working_package.h"
#include "tuner/control/control_client.h"
#include "tuner/page/page_action.h"
#include "tuner/provenance.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

static_assert(kSubmissionBytesMax == kControlLineBytesMax);
constexpr size_t kRunningMax = 16;
constexpr size_t kFollowingMax = 24;  // Of those that may take long: the others are never kept out.
constexpr Duration kPatience = Seconds(30);

Result<int64_t> NumberIn(const HttpRequest& request, const std::string& name, int64_t max) {
  const auto found = request.query.find(name);
  const std::string text = found == request.query.end() ? "" : found->second;
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && number >= 0 && number <= max) return number;
  return InvalidArgument(name + ": read '" + text + "', expected a number from 0 to " +
                         std::to_string(max));
}

// What a command says, until the key of who asked for it counts no more.
class WhileLetIn final : public AnswerSource {
 public:
  WhileLetIn(std::shared_ptr<AnswerSource> command, std::function<bool()> is_let_in)
      : command_(std::move(command)), is_let_in_(std::move(is_let_in)) {}

  int fd() const override { return command_->fd(); }
  std::optional<std::string> Read() override {
    if (is_over_) return std::nullopt;
    if (is_let_in_()) return command_->Read();
    is_over_ = true;
    return Farewell();
  }
  std::string Silence() const override { return is_let_in_() ? command_->Silence() : Farewell(); }

 private:
  static std::string Farewell() {
    const std::string why = "tune: the key counts no more: it was revoked, or has expired\n";
    return "e " + std::to_string(why.size()) + "\n" + why + "x 2\n";
  }

  const std::shared_ptr<AnswerSource> command_;
  const std::function<bool()> is_let_in_;
  bool is_over_ = false;
};

bool IsHash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

ClientApi::ClientApi(std::string db_path, std::string program_dir, const Clock& clock)
    : db_path_(std::move(db_path)), program_dir_(std::move(program_dir)), clock_(clock) {}

HttpAnswer ClientApi::Answer(const HttpRequest& request, const Client& client) {
  const bool is_package = request.path.starts_with(kPackagesPath);
  if (request.method != "POST" && !(is_package && request.method == "GET")) {
    return is_package ? WrongMethod("expected GET or POST", "GET, POST")
                      : WrongMethod("expected POST", "POST");
  }
  Result<HttpAnswer> answer = NotFound("there is nothing at this address");
  if (request.path == kCommandsPath) {
    answer = Command(request, client);
  } else if (is_package) {
    answer = Package(request, client);
  } else {
    const Result<ControlAnswer> submitted = Submit(request.body);
    return ActionAnswer(submitted.ok() ? *submitted : ControlAnswer{submitted.status(), {}});
  }
  if (answer.ok()) return *std::move(answer);
  return ErrorAnswer(HttpStatusOf(answer.status().code()), answer.status().message());
}

Result<HttpAnswer> ClientApi::Command(const HttpRequest& request, const Client& client) {
  const Result<Value> body = ParseJson(request.body);
  if (!body.ok()) return body.status().At("the body");
  const Value* const list = body->is_map() ? body->Find("arguments") : nullptr;
  const Value* const width = body->is_map() ? body->Find("width") : nullptr;
  const bool is_list = list != nullptr && list->is_list() &&
                       std::all_of(list->AsList().begin(), list->AsList().end(),
                                   [](const Value& one) { return one.is_string(); });
  if (!is_list || (width != nullptr && !width->is_int())) {
    return InvalidArgument(R"(the body: expected {"arguments": ["list"], "width": 80})");
  }
  if (list->AsList().empty()) return InvalidArgument("arguments: expected a command's name first");
  std::vector<std::string> arguments;
  for (const Value& one : list->AsList()) {
    arguments.push_back(one.AsString());
    if (arguments.back().find('\0') != std::string::npos) {
      return InvalidArgument("arguments: no text has a zero byte");
    }
  }
  TUNE_ASSIGN_OR_RETURN(const RemoteKind kind, CheckRemoteCommand(arguments));
  if (kind == RemoteKind::kActs && client.rights != PageRights::kAct) {
    return ErrorAnswer(403, "this key shows, and changes nothing");
  }
  const bool follows = MayTakeLong(arguments);
  std::vector<Place>& places = follows ? following_ : running_;
  const size_t places_max = follows ? kFollowingMax : kRunningMax;
  std::erase_if(places, [](const Place& one) { return one.command.expired(); });
  if (places.size() >= places_max) return Unavailable("too many commands run here just now");
  const size_t own = static_cast<size_t>(std::count_if(
      places.begin(), places.end(), [&](const Place& one) { return one.client == client.id; }));
  if (own >= places_max - places_max / 4) {
    return Unavailable("with this key " + std::to_string(own) +
                       " commands run here just now; the other " +
                       std::to_string(places_max - own) + " places are for other keys");
  }
  const int64_t columns = width == nullptr ? 0 : std::clamp<int64_t>(width->AsInt(), 0, 10'000);
  HttpAnswer answer;
  TUNE_ASSIGN_OR_RETURN(std::shared_ptr<AnswerSource> command,
                        CommandOutput::Start(program_dir_, db_path_, arguments,
                                             static_cast<int>(columns), client.asks_for));
  answer.source = std::make_shared<WhileLetIn>(std::move(command), client.is_let_in);
  answer.content_type = "application/octet-stream";
  places.push_back({client.id, answer.source});
  return answer;
}

Result<HttpAnswer> ClientApi::Package(const HttpRequest& request, const Client& client) {
  PackageName name;
  name.sha256 = request.path.substr(kPackagesPath.size());
  if (!IsHash(name.sha256)) return InvalidArgument("expected the 64 digits of a SHA-256");
  TUNE_ASSIGN_OR_RETURN(name.bytes, NumberIn(request, "bytes", limits::kPackageBytesMax));
  PackageUpload packages(PackagesDirOf(db_path_), client.id);
  if (name.bytes == 0) return InvalidArgument("bytes: read 0, expected those of a packed folder");
  int64_t have = 0;
  if (request.method == "GET") {
    have = packages.Have(name);
  } else {
    TUNE_ASSIGN_OR_RETURN(const int64_t from, NumberIn(request, "from", name.bytes));
    TUNE_ASSIGN_OR_RETURN(have, packages.Append(name, from, request.body));
  }
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = "{\"have\":" + std::to_string(have) + "}";
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

Result<ControlAnswer> ClientApi::Submit(const std::string& body) {
  TUNE_ASSIGN_OR_RETURN(ControlRequest request, DecodeRequest(body));
  if (request.verb != ControlVerb::kSubmit) {
    return InvalidArgument(std::string(ControlVerbName(request.verb)) + ": expected submit");
  }
  // Whatever it says of itself: its folder is not here.
  TUNE_ASSIGN_OR_RETURN(Provenance provenance, DecodeProvenance(request.submission.provenance));
  provenance.is_elsewhere = true;
  request.submission.provenance = EncodeProvenance(provenance);
  const std::optional<LockHolder> head = FindLockHolder(db_path_);
  if (!head) return Unavailable("no head is here just now");
  if (!head->is_head) return FailedPrecondition("a tuner of one sweep runs here, and no head");
  request.tuner = head->pid;
  return AskTuner(ArtifactsDirOf(db_path_), request, clock_, kPatience);
}

}  // namespace tune
