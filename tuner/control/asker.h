// For whom this program asks: a command that the page runs for one of its clients, and the page
// itself, ask for that client, and what changes something says so (control_request.h).
//
// Thread rule: each thread asks for somebody of its own.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "tuner/control/control_request.h"

namespace tune {

// The variable by which a command is told, as ToVariable says.
inline constexpr char kAsksFor[] = "TUNE_ASKS_FOR";
std::string ToVariable(const Asker& asker);

// Nothing: for the person who runs it.
std::optional<Asker> AsksFor();

// Until it is left this thread asks for `asker`.
class AskingFor {
 public:
  explicit AskingFor(std::optional<Asker> asker);
  ~AskingFor();
  AskingFor(const AskingFor&) = delete;
  AskingFor& operator=(const AskingFor&) = delete;

 private:
  std::optional<Asker> before_;
};

// Where no tuner is there to ask, and the database is changed by this program itself: a user's key
// does not reach so far (kPermissionDenied).
Status MayChangeAlone();

// Whether who asks may have that done. `owner`: of the sweep that it is about; of a submission, of
// the workers and of the cluster it does not matter. kPermissionDenied says who may.
Status MayAsk(const ControlRequest& request, const std::string& owner);

}  // namespace tune
