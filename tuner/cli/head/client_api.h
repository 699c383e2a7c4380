// What clients of a head on other machines ask (`tune --head`), each with the key itself:
//
//   POST /api/v1/commands     {"arguments": ["logs", "train", "-f"], "width": 80}
//        runs the command here, and answers what it prints as it does (command_output.h)
//   GET  /api/v1/packages/SHA256?bytes=N         {"have": N}: how many bytes of it are here
//   POST /api/v1/packages/SHA256?bytes=N&from=M  those from M on, 1 MiB at most; {"have": N}
//   POST /api/v1/submissions  a submit as the head's socket takes it (control_request.h), whatever
//        process it names, as long as there; {"ok": ["name"]}
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/control/control_request.h"
#include "tuner/http/http_message.h"
#include "tuner/http/page_guard.h"

namespace tune {

class ClientApi {
 public:
  ClientApi(std::string db_path, std::string program_dir, const Clock& clock);

  // Who asks. Commands of one leave a quarter of the places to others.
  struct Client {
    PageRights rights = PageRights::kLook;
    std::string id;                   // PageGuard::ClientOf.
    Asker asks_for;                   // Of a viewer, who changes nothing, without a name.
    std::function<bool()> is_let_in;  // Whether its key still counts: else a command of it ends.
  };
  // Of a path that is for programs (page_guard.h), and may pass.
  HttpAnswer Answer(const HttpRequest& request, const Client& client);

 private:
  struct Place {
    std::string client;
    std::weak_ptr<AnswerSource> command;
  };

  Result<HttpAnswer> Command(const HttpRequest& request, const Client& client);
  Result<HttpAnswer> Package(const HttpRequest& request, const Client& client);
  Result<ControlAnswer> Submit(const std::string& body);

  const std::string db_path_;
  const std::string program_dir_;
  const Clock& clock_;
  std::vector<Place> running_, following_;  // The latter take long.
};

}  // namespace tune
