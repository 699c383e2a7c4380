#include "tuner/cli/head/remote_command.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/time.h"
#include "trial_runner/command_text.h"
#include "tuner/cli/head/command_output.h"
#include "tuner/cli/head/remote_files.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/interrupt_words.h"

namespace tune {
namespace {

constexpr Duration kPatience = Seconds(60);  // A head that has nothing to say says so before.
constexpr Duration kLookAgainEvery = Milliseconds(500);

constexpr std::string_view kTelling[] = {
    "status", "list", "results", "best",  "export", "importance", "plot",   "compare",
    "why",    "logs", "jobs",    "queue", "wait",   "attach",     "report", "files"};
constexpr std::string_view kActing[] = {"stop",  "pause",  "unpause", "set",
                                        "drain", "delete", "resume",  "note"};
constexpr std::string_view kOfTheHead[] = {"--db",      "--head",   "--space",
                                           "--ui",      "--http",   "--tls-cert",
                                           "--tls-key", "--listen", "--detach"};

constexpr std::string_view kWithoutDatabase[] = {
    "help",   "completion", "init",     "schema", "plan",   "simulate", "import",
    "decide", "head",       "ask-tell", "worker", "doctor", "login"};

template <typename Names>
bool IsAmong(const Names& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Prints what was not printed before, of a text that begins anew.
class Unrepeated {
 public:
  explicit Unrepeated(std::ostream& to) : to_(to) {}
  void Begin() { seen_ = 0; }
  void Print(std::string_view piece) {
    const size_t known = std::min(piece.size(), printed_ - std::min(printed_, seen_));
    seen_ += piece.size();
    if (known == piece.size()) return;
    to_ << piece.substr(known) << std::flush;
    printed_ = seen_;
  }

 private:
  std::ostream& to_;
  size_t seen_ = 0, printed_ = 0;
};

// Of something in a folder.
bool IsPlainName(const std::string& text) {
  return !text.empty() && text.front() != '-' && text.front() != '.' &&
         text.find('/') == std::string::npos;
}

// What Ctrl-C leaves as it is.
std::string WhatGoesOn(const std::vector<std::string>& arguments) {
  const std::string& verb = arguments.front();
  std::string names;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with('-')) names += " " + ShellQuoted(arguments[i]);
  }
  if (verb == "wait") return "what it waits for goes on";
  const std::string again = "tune " + verb + names + (verb == "logs" ? " -f" : "");
  return std::string(verb == "logs" ? "the job" : "detached; the sweep") +
         " goes on: " + PrintableLines(again) + " shows it again, tune stop" +
         PrintableLines(names) + " ends it";
}

std::string BodyOf(const std::vector<std::string>& arguments, int width) {
  Value list = Value::MakeList();
  for (const std::string& argument : arguments) list.AsList().emplace_back(argument);
  Value body = Value::MakeMap();
  body.Set("arguments", std::move(list));
  body.Set("width", int64_t{width});
  return ToJson(body);
}

}  // namespace

Status ErrorOfReply(const HttpReply& reply) {
  const Result<Value> body = ParseJson(reply.body);
  const Value* const error = body.ok() && body->is_map() ? body->Find("error") : nullptr;
  const std::string text = error != nullptr && error->is_string()
                               ? error->AsString()
                               : "it answered with status " + std::to_string(reply.status);
  switch (reply.status) {
    case 400:
      return InvalidArgument(text);
    case 403:
      return PermissionDenied(text);
    case 503:
      return Unavailable(text);
    case 507:
      return ResourceExhausted(text);
    default:
      return FailedPrecondition(text);
  }
}

Result<RemoteKind> CheckRemoteCommand(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments.front();
  const bool shows_note = name == "note" && arguments.size() == 2;  // Its NAME alone.
  const bool tells = IsAmong(kTelling, name) || shows_note;
  if (!tells && !IsAmong(kActing, name)) {
    return InvalidArgument("tune " + name +
                           " works on a database of this machine, and not on a head elsewhere "
                           "(--head, TUNE_HEAD)");
  }
  // The command may take a -- for an option's value, and read on. A note writes no file.
  if (name != "note" && IsAmong(arguments, "--")) {
    return InvalidArgument("tune " + name + ": expected no -- in a command of a head elsewhere");
  }
  for (const std::string& argument : arguments) {
    const std::string option = argument.substr(0, argument.find('='));
    if (!IsAmong(kOfTheHead, option)) continue;
    return InvalidArgument(option + ": is about files of the head's machine, and so is not taken " +
                           "from elsewhere");
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<RemoteFile> written, FilesOf(arguments));
  for (const RemoteFile& file : written) {
    if (IsPlainName(file.path)) continue;
    return InvalidArgument(arguments[file.at] + ": read '" + file.path +
                           "', expected a plain name");
  }
  if (name == "report" && written.empty()) {
    return InvalidArgument("report: expected --html or --md");
  }
  return tells ? RemoteKind::kTells : RemoteKind::kActs;
}

bool MayTakeLong(const std::vector<std::string>& arguments) {
  if (arguments.front() == "wait" || arguments.front() == "attach") return true;
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "-f" || argument == "--follow" || argument == "--watch";
  });
}

bool NeedsNoDatabase(std::string_view command) { return IsAmong(kWithoutDatabase, command); }

int RunRemoteCommand(const HttpPlace& head, const std::vector<std::string>& said, int width,
                     const WaitFunction& wait, std::ostream& out, std::ostream& err,
                     bool was_there) {
  Result<RemoteFiles> files = RemoteFiles::Prepare(said);
  if (!files.ok()) return Complain(files.status(), err);
  const std::vector<std::string>& arguments = files->arguments();
  const Result<RemoteKind> kind = CheckRemoteCommand(arguments);
  if (!kind.ok()) return Complain(kind.status(), err);
  // What these print begins as before when they are run again.
  const bool repeats = arguments.front() == "wait" || arguments.front() == "logs";
  const bool follows = repeats || arguments.front() == "attach";
  Unrepeated outs(out), errors(err);
  bool has_heard = was_there;
  bool has_said = false;
  for (;;) {
    if (repeats) {
      outs.Begin();
      errors.Begin();
    }
    Status read;
    CommandOutputReader reader([&](std::string_view piece) { outs.Print(piece); },
                               [&](std::string_view piece) { errors.Print(piece); },
                               [&](std::string_view piece) {
                                 if (read.ok()) read = files->Take(reader.files(), piece);
                               });
    HttpClient client(head, kPatience);
    std::optional<InterruptWords> on_interrupt;
    if (follows) on_interrupt.emplace(WhatGoesOn(arguments));
    const Result<HttpReply> reply =
        client.PostAndTake("/api/v1/commands", "application/json", BodyOf(arguments, width),
                           [&](std::string_view piece) {
                             has_heard = true;
                             const Status taken = reader.Take(piece);
                             if (read.ok()) read = taken;
                             // The status comes last, also where the answer has no end of itself.
                             return read.ok() && !out.fail() && !reader.exit_status();
                           });
    on_interrupt.reset();
    if (read.ok() && reader.exit_status()) {
      const Status kept = files->Keep();
      return kept.ok() ? *reader.exit_status() : Complain(kept, err);
    }
    Status status = !reply.ok()            ? reply.status()
                    : reply->status == 200 ? read
                                           : ErrorOfReply(*reply);
    if (status.ok()) status = Unavailable("the head's answer broke off");
    has_heard |= reply.ok();  // It is there, and has no place for now.
    const bool may_try = status.code() == StatusCode::kUnavailable && has_heard && follows;
    if (may_try && !std::exchange(has_said, true)) {
      err << "head " << head.address.ToText() << ": " << PrintableLines(status.message())
          << "; waiting for it to come back, what it runs goes on meanwhile (Ctrl-C ends this wait "
             "alone)"
          << std::endl;
    }
    if (!may_try) {
      const bool may_be_done = *kind == RemoteKind::kActs && reply.ok() && reply->status == 200;
      if (may_be_done) {
        status = Unavailable(status.message() +
                             "; it may have been done: look with tune status, or "
                             "say it again");
      }
      return Complain(status.At("head " + head.address.ToText()), err);
    }
    if (!wait(kLookAgainEvery)) {
      err << WhatGoesOn(arguments) << std::endl;
      return kExitLeft;
    }
  }
}

}  // namespace tune
