#include "tuner/cli/head/ui_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/real_clock.h"
#include "trial_runner/network_address.h"
#include "trial_runner/package/sha256.h"
#include "trial_runner/version.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/client_api.h"
#include "tuner/cli/head/client_keys.h"
#include "tuner/cli/look/page_place.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/outward_host.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/control/asker.h"
#include "tuner/http/http_server.h"
#include "tuner/http/page_files.h"
#include "tuner/http/page_guard.h"
#include "tuner/page/metrics_page.h"
#include "tuner/page/page_api.h"

namespace tune {
namespace {

std::string DrawKey() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (int i = 0; i < 2; ++i) {
    uint64_t bits = DrawEntropy();
    for (int digit = 0; digit < 16; ++digit, bits >>= 4) key.push_back(kDigits[bits & 15]);
  }
  return key;
}

// Tells one from another, and is no secret.
std::string DrawWord() { return DrawKey().substr(0, 8); }

bool IsKeyLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// There whole or not at all, for its owner alone.
Status MakeKeyFile(const std::string& path) {
  std::string beside = path + ".XXXXXX";
  const FileDescriptor file(mkostemp(beside.data(), O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus("create", path);
  const std::string key = DrawKey() + "\n";
  Status made = WriteAll(file.get(), std::as_bytes(std::span(key)), path);
  if (made.ok() && fsync(file.get()) != 0) made = ErrnoStatus("sync", path);
  if (made.ok()) made = RenameSynced(beside, path);
  if (!made.ok()) unlink(beside.c_str());
  return made;
}

// An empty file is what a full disk or a loss of power has left of one.
bool HasKeyFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !(S_ISREG(info.st_mode) && info.st_size == 0);
}

Result<std::string> ReadKeyFile(const std::string& path) {
  constexpr size_t kKeyMin = 32;
  constexpr size_t kKeyMax = 256;
  if (!HasKeyFile(path)) TUNE_RETURN_IF_ERROR(MakeKeyFile(path));
  struct stat rights = {};
  if (stat(path.c_str(), &rights) == 0 && (rights.st_mode & S_IRWXO) != 0) {
    return InvalidArgument(path + ": everybody on this machine may read the key; chmod o= " + path);
  }
  TUNE_ASSIGN_OR_RETURN(std::string key, ReadFile(path, kKeyMax));
  if (key.ends_with('\n')) key.pop_back();
  if (key.size() >= kKeyMin && std::all_of(key.begin(), key.end(), IsKeyLetter)) return key;
  return InvalidArgument(path + ": read " + std::to_string(key.size()) +
                         " bytes, expected a line of 32 letters or more, A-Z a-z 0-9 - _; remove "
                         "it, and one is made");
}

// Kept over starts, or this start's alone.
Result<std::string> KeyOf(const UiOptions& options) {
  if (options.key_path.empty()) return DrawKey();
  Result<std::string> kept = ReadKeyFile(options.key_path);
  return kept.ok() ? std::move(kept) : kept.status().At("--key-file");
}

// "AB:CD" without its colons, in lower case.
std::string Digits(const std::string& fingerprint) {
  std::string digits;
  for (const char c : fingerprint) {
    if (c != ':') digits += static_cast<char>(std::tolower(c));
  }
  return digits;
}

HttpAnswer FileAnswer(const std::string& path) {
  const PageFile* const file = FindPageFile(path);
  if (file == nullptr) return ErrorAnswer(404, "there is nothing at this address");
  HttpAnswer answer;
  answer.content_type = file->content_type;
  answer.body = file->data;
  // Assets carry a hash of their content in their names.
  answer.headers = {{"Cache-Control", path == "/" ? "no-cache" : "max-age=31536000, immutable"}};
  return answer;
}

// Who has the viewer's key cannot tell the user's from it; a key that is kept keeps both.
std::string ViewerKeyOf(const std::string& admin_key) {
  Sha256 hash;
  hash.Add("tune page viewer 1 " + admin_key);
  return hash.Finish().substr(0, 32);
}

// By way of a file that leads there and that others cannot read: all users of the machine see what
// a program was called with, and whoever knows the key has the page. Gives the file's name; empty:
// none was made.
std::string OpenBrowser(const std::string& address) {
  std::string path = TemporaryFolderPath() / "tune_page_XXXXXX.html";
  constexpr int kSuffixBytes = 5;
  const FileDescriptor file(mkostemps(path.data(), kSuffixBytes, O_CLOEXEC));
  const std::string text =
      "<!doctype html><meta charset=\"utf-8\"><title>tune</title>"
      "<meta http-equiv=\"refresh\" content=\"0; url=" +
      address + "\"><a href=\"" + address + "\">the page of tune</a>\n";
  if (file.get() < 0 || write(file.get(), text.data(), text.size()) < 0) return "";
  const char* const argv[] = {"xdg-open", path.c_str(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0) {
    unlink(path.c_str());  // The address is printed anyway.
    return "";
  }
  return path;
}

Asker AskerOf(const PageCaller& caller) {
  const bool may_change = caller.role == PageRole::kUser || caller.role == PageRole::kAdmin;
  return {may_change ? caller.name : "", caller.role == PageRole::kAdmin};
}

// What tells whose a request is.
HttpRequest KeysOf(const HttpRequest& request) {
  HttpRequest keys;
  keys.host = request.host;
  keys.authorization = request.authorization;
  keys.cookie = request.cookie;
  return keys;
}

// Whose key was sent.
HttpAnswer MeAnswer(const PageCaller& caller) {
  Value me = Value::MakeMap();
  me.Set("name", caller.name.empty() ? Value() : Value(caller.name));
  me.Set("role", caller.role == PageRole::kAdmin  ? "admin"
                 : caller.role == PageRole::kUser ? "user"
                                                  : "viewer");
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = ToJson(me);
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

// `page`: its address up to the key; `cert`: what stands behind that.
Status SayWhereItIs(const UiOptions& options, const std::string& page, const std::string& cert,
                    const PageKeys& keys, const std::optional<PageTls>& tls, std::ostream& out) {
  // Where those who are given keys later find it.
  if (!options.key_path.empty() && options.act) {
    TUNE_RETURN_IF_ERROR(WriteFileSynced(PageAddressFileOf(options.db_path), page + cert + "\n"));
  }
  out << "the page of " << options.db_path << ": " << page << keys.admin << cert << "\n";
  if (tls && options.act) out << "for those who only look: " << page << keys.viewer << cert << "\n";
  if (tls && !tls->fingerprint.empty()) {
    out << "its certificate is signed by nobody else, so a browser asks once whether to trust it "
           "(SHA-256 "
        << tls->fingerprint << ")\n";
  }
  out << (options.is_terminal ? "Ctrl-C ends it\n" : "") << std::flush;
  return OkStatus();
}

Status Serve(const UiOptions& options, std::ostream& out, std::ostream& err) {
  const RealClock clock;
  RenewedTls renewed(options.place, clock, err);
  TUNE_RETURN_IF_ERROR(CheckPagePlace(options.place, clock.Now()));
  const bool is_address_given = !options.place.http.empty();
  TUNE_ASSIGN_OR_RETURN(
      NetworkAddress address,
      ParseNetworkAddress(is_address_given ? options.place.http : kUsualPageAddress));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<PageApi> api,
                        PageApi::Open(options.db_path, DrawWord(), clock,
                                      PageApi::SlowAnswers::kAside, options.again));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<MetricsPage> metrics,
                        MetricsPage::Open(options.db_path, kProgramVersion, clock));
  TUNE_ASSIGN_OR_RETURN(const std::string key, KeyOf(options));
  TUNE_ASSIGN_OR_RETURN(const std::optional<PageTls> tls,
                        PrepareTls(options.place, address, options.db_path, clock.Now()));
  const PageKeys keys = {key, ViewerKeyOf(key)};
  ClientKeys given(TlsFolderOf(ArtifactsDirOf(options.db_path)), clock);
  const auto lookup = [&given](std::string_view text) { return given.CallerOf(text); };
  const PageGuard guard(keys, lookup, options.act ? PageRights::kAct : PageRights::kLook,
                        tls ? PageGuard::Channel::kTls : PageGuard::Channel::kPlain, DrawWord);
  ClientApi clients(options.db_path, options.program_dir, clock);
  const auto answer = [&](const HttpRequest& request) {
    if (std::optional<HttpAnswer> stopped = guard.Stop(request)) return *std::move(stopped);
    const PageCaller caller = guard.CallerOf(request);
    const AskingFor asking(AskerOf(caller));
    const auto is_let_in = [&guard, later = KeysOf(request)] {
      return guard.CallerOf(later).role != PageRole::kStranger;
    };
    if (IsForPrograms(request.path)) {
      return clients.Answer(request, {guard.ProgramRightsOf(request), guard.ClientOf(request),
                                      AskerOf(caller), is_let_in});
    }
    if (request.path == "/metrics") return metrics->Answer();
    if (request.path == "/api/v1/me") return MeAnswer(caller);
    const bool is_data = request.path.starts_with("/api/");
    HttpAnswer answered =
        is_data ? api->Answer(request, guard.RightsOf(request)) : FileAnswer(request.path);
    if (answered.is_event_stream) answered.is_let_in = is_let_in;
    return answered;
  };
  const auto handle = [&](const HttpRequest& request) {
    HttpAnswer answered = answer(request);
    answered.client = guard.ClientOf(request);
    metrics->CountAnswer(answered.status);
    return answered;
  };
  const auto listen = [&] {
    return HttpServer::Listen(
        address, tls ? std::optional(tls->tls) : std::nullopt, [&] { return renewed.Look(); },
        handle, [&] { return api->NextEvent(); });
  };
  Result<std::unique_ptr<HttpServer>> server = listen();
  if (!server.ok() && server.status().code() == StatusCode::kUnavailable && !is_address_given) {
    address.port = 0;
    server = listen();
  }
  if (!server.ok()) return server.status().At("--http");
  address.port = (*server)->port();
  if (address.is_any()) address.host = OutwardHost();
  const std::string page = (tls ? "https://" : "http://") + address.ToText() + "/?key=";
  // By it clients (--head) know whom they ask; browsers pass it over.
  const std::string cert =
      tls && !tls->fingerprint.empty() ? "&cert=" + Digits(tls->fingerprint) : "";
  TUNE_RETURN_IF_ERROR(SayWhereItIs(options, page, cert, keys, tls, out));
  const std::string opened = options.open ? OpenBrowser(page + keys.admin) : "";
  (*server)->Run();
  if (!opened.empty()) unlink(opened.c_str());
  return OkStatus();
}

}  // namespace

int UiCommand(const UiOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Serve(options, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
