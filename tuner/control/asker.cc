#include "tuner/control/asker.h"

#include <string_view>
#include <utility>

#include "core/posix/environment.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr std::string_view kAdmin = "admin ";
constexpr std::string_view kUser = "user ";

// "admin ada"; what is nothing of the kind may change nothing.
std::optional<Asker> ReadVariable(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text.starts_with(kAdmin)) return Asker{text.substr(kAdmin.size()), true};
  return Asker{text.starts_with(kUser) ? text.substr(kUser.size()) : "", false};
}

std::optional<Asker>& Present() {
  thread_local std::optional<Asker> present = ReadVariable(EnvironmentText(kAsksFor));
  return present;
}

bool IsOfPool(ControlVerb verb) {
  return verb == ControlVerb::kDrain || verb == ControlVerb::kClusterDown ||
         verb == ControlVerb::kClusterSet;
}

Status RefuseUser(const Asker& user, const std::string& what) {
  return PermissionDenied(what + "; " + ToUtf8(user.name) + "'s is a user's (tune tokens)");
}

}  // namespace

std::string ToVariable(const Asker& asker) {
  return std::string(asker.is_admin ? kAdmin : kUser) + asker.name;
}

std::optional<Asker> AsksFor() { return Present(); }

AskingFor::AskingFor(std::optional<Asker> asker)
    : before_(std::exchange(Present(), std::move(asker))) {}
AskingFor::~AskingFor() { Present() = std::move(before_); }

Status MayChangeAlone() {
  if (!Present() || Present()->is_admin) return OkStatus();
  return PermissionDenied("no head is here just now, and a user's key changes nothing without one");
}

Status MayAsk(const ControlRequest& request, const std::string& owner) {
  if (!request.by || request.by->is_admin || !IsChange(request.verb)) return OkStatus();
  const Asker& user = *request.by;
  if (user.name.empty()) return PermissionDenied("this key shows, and changes nothing");
  if (IsOfPool(request.verb)) return RefuseUser(user, "workers are let go by an admin's key alone");
  if (request.verb == ControlVerb::kSubmit) return OkStatus();
  if (owner != user.name) {
    const std::string whose = owner.empty() ? "nobody's" : ToUtf8(owner) + "'s";
    return RefuseUser(user, request.sweep + " is " + whose +
                                ", and is changed by that owner's key or an admin's");
  }
  for (const std::string& setting : request.settings) {
    if (setting.starts_with("owner=")) {
      return RefuseUser(user, "an owner is changed by an admin's key alone");
    }
  }
  return OkStatus();
}

}  // namespace tune
