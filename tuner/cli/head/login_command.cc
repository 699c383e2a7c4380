#include "tuner/cli/head/login_command.h"

#include <termios.h>
#include <unistd.h>

#include <utility>

#include "core/json.h"
#include "tuner/cli/head/kept_heads.h"
#include "tuner/cli/head/remote_command.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/http/http_client.h"

namespace tune {
namespace {

constexpr Duration kAnswerPatience = Seconds(20);

// What is typed is not shown meanwhile.
class Unseen {
 public:
  Unseen() : is_changed_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_changed_) return;
    termios unseen = before_;
    unseen.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen);
  }
  ~Unseen() {
    if (is_changed_) (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  termios before_ = {};
  const bool is_changed_;
};

std::string ReadAddress(const LoginOptions& options, std::istream& in, std::ostream& err) {
  std::string line;
  if (options.is_terminal) {
    err << "the head's address, as it printed it or tune tokens create did (it is not shown): "
        << std::flush;
    const Unseen unseen;
    std::getline(in, line);
    err << std::endl;
  } else {
    std::getline(in, line);
  }
  const size_t begin = line.find_first_not_of(" \t");
  const size_t end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
}

// "ada, a user", as the head knows the key.
Result<std::string> AskWho(const HttpPlace& place) {
  HttpClient client(place, kAnswerPatience);
  TUNE_ASSIGN_OR_RETURN(const HttpReply reply, client.Get("/api/v1/me"));
  if (reply.status != 200) return ErrorOfReply(reply);
  const Result<Value> me = ParseJson(reply.body);
  const Value* const name = me.ok() && me->is_map() ? me->Find("name") : nullptr;
  const Value* const role = me.ok() && me->is_map() ? me->Find("role") : nullptr;
  if (name == nullptr || role == nullptr || !role->is_string()) {
    return FailedPrecondition("its answer cannot be read; is it an older one?");
  }
  const std::string what = (role->AsString() == "admin" ? "an " : "a ") + role->AsString();
  return name->is_string() ? Printable(name->AsString()) + ", " + what : what;
}

Status Login(const LoginOptions& options, std::istream& in, std::ostream& out, std::ostream& err) {
  if (options.forget) {
    TUNE_RETURN_IF_ERROR(ForgetHead(options.name));
    out << Printable(options.name) << " is forgotten here; its key counts until tune tokens revoke "
        << "ends it, on the head's machine\n";
    return OkStatus();
  }
  TUNE_RETURN_IF_ERROR(CheckHeadName(options.name));
  const std::string address = ReadAddress(options, in, err);
  const Result<HttpPlace> place = ReadHttpPlace(address);
  if (!place.ok()) return place.status().At("the address");
  const Result<std::string> who = AskWho(*place);
  if (!who.ok()) return who.status().At("head " + place->address.ToText());
  TUNE_ASSIGN_OR_RETURN(const std::string path, KeepHead(options.name, address));
  out << "head " << place->address.ToText() << " knows you as " << *who << "; kept in " << path
      << ", for --head " << options.name << " and TUNE_HEAD=" << options.name << "\n";
  return OkStatus();
}

}  // namespace

int LoginCommand(const LoginOptions& options, std::istream& in, std::ostream& out,
                 std::ostream& err) {
  const Status status = Login(options, in, out, err);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
