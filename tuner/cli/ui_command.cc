#include "tuner/cli/ui_command.h"

#include <spawn.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/posix/real_clock.h"
#include "trial_runner/network_address.h"
#include "tuner/cli/complain.h"
#include "tuner/http/http_server.h"
#include "tuner/http/page_files.h"
#include "tuner/http/page_guard.h"
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

Result<NetworkAddress> AddressOf(const std::string& text) {
  TUNE_ASSIGN_OR_RETURN(const NetworkAddress address, ParseNetworkAddress(text));
  if (address.is_loopback()) return address;
  return InvalidArgument(
      "--http: read " + text +
      ", expected an address of this machine alone, such as 127.0.0.1:8080; from elsewhere reach "
      "it with: ssh -L 8080:127.0.0.1:8080 HOST");
}

void OpenBrowser(const std::string& address) {
  const char* const argv[] = {"xdg-open", address.c_str(), nullptr};
  pid_t pid = 0;
  if (posix_spawnp(&pid, argv[0], nullptr, nullptr, const_cast<char* const*>(argv), environ) != 0) {
    return;  // The address is printed anyway.
  }
}

Status Serve(const UiOptions& options, std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(NetworkAddress address, AddressOf(options.address));
  const PageRights rights = options.act ? PageRights::kAct : PageRights::kLook;
  const RealClock clock;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<PageApi> api,
                        PageApi::Open(options.db_path, DrawKey().substr(0, 8), rights, clock,
                                      PageApi::SlowAnswers::kAside));
  const std::string key = DrawKey();
  const PageGuard guard(key, rights);
  const auto handle = [&](const HttpRequest& request) {
    if (std::optional<HttpAnswer> stopped = guard.Stop(request)) return *std::move(stopped);
    const bool is_data = request.path.starts_with("/api/");
    return is_data ? api->Answer(request) : FileAnswer(request.path);
  };
  const auto poll = [&] { return api->NextEvent(); };
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Listen(address, handle, poll);
  if (!server.ok() && server.status().code() == StatusCode::kUnavailable &&
      !options.address_is_given) {
    address.port = 0;
    server = HttpServer::Listen(address, handle, poll);
  }
  if (!server.ok()) return server.status().At("--http");
  address.port = (*server)->port();
  const std::string page = "http://" + address.ToText() + "/?key=" + key;
  out << "the page of " << options.db_path << ": " << page << "\n"
      << (options.is_terminal ? "Ctrl-C ends it\n" : "") << std::flush;
  if (options.open) OpenBrowser(page);
  (*server)->Run();
  return OkStatus();
}

}  // namespace

Status CheckPageAddress(const std::string& address) { return AddressOf(address).status(); }

int UiCommand(const UiOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Serve(options, out);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
