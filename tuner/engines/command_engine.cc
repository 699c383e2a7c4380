#include "tuner/engines/command_engine.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/utf8.h"
#include "tuner/engines/program_call.h"

namespace tune {
namespace {

constexpr size_t kAtOnce = 8;
constexpr Duration kUpPatience = Seconds(600);  // A cloud takes its time.
constexpr Duration kListPatience = Seconds(60);
constexpr uint64_t kMadeTokenBytesMax = 4096;
constexpr int kQuotaStatus = 75;  // EX_TEMPFAIL of sysexits.h.

MachineState StateOf(std::string_view word) {
  if (word == "pending") return MachineState::kPending;
  if (word == "ended") return MachineState::kEnded;
  return MachineState::kRunning;
}

Result<std::vector<Machine>> ParseJsonList(std::string_view text, std::string_view prefix) {
  const Result<Value> list = ParseJson(text);
  const Status bad =
      InvalidArgument("list: expected names, a line each, or a list of JSON with {\"name\": ...}");
  if (!list.ok() || !list->is_list()) return bad;
  std::vector<Machine> machines;
  for (const Value& item : list->AsList()) {
    const Value* const name = item.is_map() ? item.Find("name") : &item;
    if (name == nullptr || !name->is_string()) return bad;
    if (!name->AsString().starts_with(prefix)) continue;
    Machine machine{name->AsString()};
    if (item.is_map()) {
      const Value* const state = item.Find("state");
      const Value* const reason = item.Find("reason");
      if (state != nullptr && state->is_string()) machine.state = StateOf(state->AsString());
      if (reason != nullptr && reason->is_string()) machine.reason = Printable(reason->AsString());
    }
    machines.push_back(std::move(machine));
  }
  return machines;
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Names of machines are one word of these; "ERROR:" and "Error contacting the server" are none.
bool LooksLikeName(std::string_view word) {
  const auto is_good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._:/@+-").find(c) != std::string_view::npos;
  };
  std::string lower(word);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_error = lower == "error" || lower == "fatal" || lower == "traceback";
  return !word.empty() && word.back() != ':' && !is_error &&
         std::all_of(word.begin(), word.end(), is_good);
}

// A program that failed and ended with 0 all the same would be taken for an empty cloud, and its
// machines for gone.
Status CheckListing(const CallAnswer& answer, std::string_view prefix) {
  if (IsBlank(answer.out)) {
    // gcloud says so of an empty list.
    if (IsBlank(answer.err) || LastLine(answer.err) == "Listed 0 items.") return OkStatus();
    return InvalidArgument("list: ended with 0 and listed nothing, and said: " + answer.Reason() +
                           "; expected [] or nothing at all where there is no machine");
  }
  if (answer.out[answer.out.find_first_not_of(" \t\r\n")] == '[') return OkStatus();
  for (std::string_view left = answer.out; !left.empty();) {
    const size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (IsBlank(line)) continue;
    line.remove_prefix(line.find_first_not_of(" \t\r"));
    const bool is_name = LooksLikeName(line.substr(0, line.find_first_of(" \t\r")));
    if (line.starts_with(prefix) || is_name) continue;
    return InvalidArgument("list: read '" + LastLine(std::string(line)) +
                           "', expected a machine a line: NAME [STATE [REASON]]");
  }
  return OkStatus();
}

class CommandEngine final : public Engine {
 public:
  CommandEngine(const PoolSpec& pool, std::string base_dir, std::string prefix)
      : pool_(pool), base_dir_(std::move(base_dir)), prefix_(std::move(prefix)) {}

  std::vector<Status> Ask(const std::vector<std::string>& names,
                          const WorkerInvitation& invitation) override {
    const Result<std::string> token = ReadFile(invitation.token_path, kMadeTokenBytesMax);
    if (!token.ok()) return std::vector<Status>(names.size(), token.status());
    std::vector<ProgramCall> calls;
    for (const std::string& name : names) {
      calls.push_back(Call(pool_.command->up, name, kUpPatience));
      std::vector<std::string>& environment = calls.back().environment;
      environment.push_back("TUNE_CONNECT=" + invitation.connect);
      environment.push_back("TUNE_JOIN=" + *token);
      environment.push_back("TUNE_JOIN_FILE=" + invitation.token_path);
      if (pool_.worker.cpus) {
        environment.push_back("TUNE_CPUS=" + std::to_string(*pool_.worker.cpus));
      }
      if (pool_.worker.gpus) {
        environment.push_back("TUNE_GPUS=" + std::to_string(*pool_.worker.gpus));
      }
      if (pool_.spot) environment.push_back("TUNE_SPOT=1");
    }
    std::vector<Status> answers;
    for (const Result<CallAnswer>& answer : CallPrograms(calls, kAtOnce, is_called_off_)) {
      answers.push_back(Judge("up", answer));
    }
    return answers;
  }

  Result<std::vector<Machine>> List() override {
    const Result<CallAnswer> answer =
        CallProgram(Call(pool_.command->list, "", kListPatience), is_cancelled_);
    if (const Status status = Judge("list", answer); !status.ok()) {
      return Unavailable(status.message());
    }
    if (const Status read = CheckListing(*answer, prefix_); !read.ok()) {
      return Unavailable(read.message());
    }
    return ParseMachineList(answer->out, prefix_);
  }

  Status GiveBack(const std::vector<std::string>& names) override {
    std::vector<ProgramCall> calls;
    for (const std::string& name : names) {
      calls.push_back(Call(pool_.command->down, name, kUpPatience));
    }
    Status first;
    for (const Result<CallAnswer>& answer : CallPrograms(calls, kAtOnce, is_cancelled_)) {
      if (const Status status = Judge("down", answer); first.ok()) first = status;
    }
    return first;
  }

  std::string LogTail(const std::string& name) override {
    if (pool_.command->log.empty()) return "";
    const Result<CallAnswer> answer =
        CallProgram(Call(pool_.command->log, name, kListPatience), is_cancelled_);
    if (!answer.ok() || !answer->is_good()) return "";
    constexpr size_t kTail = 2000;
    return answer->out.substr(answer->out.size() - std::min(answer->out.size(), kTail));
  }

  void CallOff() override { is_called_off_ = true; }
  void Cancel() override { is_cancelled_ = is_called_off_ = true; }

 private:
  ProgramCall Call(const std::vector<std::string>& command, const std::string& name,
                   Duration patience) const {
    ProgramCall call;
    for (std::string word : command) {
      constexpr std::string_view kName = "{name}";
      for (size_t at = 0; (at = word.find(kName, at)) != std::string::npos; at += name.size()) {
        word.replace(at, kName.size(), name);
      }
      call.words.push_back(std::move(word));
    }
    call.environment = {"TUNE_WORKER_NAME=" + name, "TUNE_PREFIX=" + prefix_};
    call.folder = base_dir_;
    // What has a folder lies beside the file.
    std::string& program = call.words.front();
    if (program.find('/') != std::string::npos && program.front() != '/') {
      program = base_dir_ + "/" + program;
    }
    call.patience = patience;
    return call;
  }

  static Status Judge(const std::string& which, const Result<CallAnswer>& answer) {
    if (!answer.ok()) return answer.status().At(which);
    if (answer->is_good()) return OkStatus();
    const std::string why = which + ": " + answer->Reason();
    return answer->exit_status == kQuotaStatus ? ResourceExhausted(why) : FailedPrecondition(why);
  }

  const PoolSpec pool_;
  const std::string base_dir_;
  const std::string prefix_;
  std::atomic<bool> is_called_off_ = false;
  std::atomic<bool> is_cancelled_ = false;
};

}  // namespace

Result<std::vector<Machine>> ParseMachineList(std::string_view text, std::string_view prefix) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::vector<Machine>();
  if (text[first] == '[') return ParseJsonList(text.substr(first), prefix);
  std::vector<Machine> machines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const auto take_word = [&line] {
      constexpr std::string_view kSpace = " \t\r";
      line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
      const std::string_view word = line.substr(0, line.find_first_of(kSpace));
      line.remove_prefix(word.size());
      return word;
    };
    const std::string_view name = take_word();
    if (name.empty() || !name.starts_with(prefix)) continue;
    Machine machine{std::string(name)};
    machine.state = StateOf(take_word());
    machine.reason =
        LastLine(std::string(line.substr(std::min(line.find_first_not_of(" \t"), line.size()))));
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::unique_ptr<Engine> MakeCommandEngine(const PoolSpec& pool, const std::string& base_dir,
                                          const std::string& prefix) {
  return std::make_unique<CommandEngine>(pool, base_dir, prefix);
}

}  // namespace tune
