#include "tuner/engines/ssh_engine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <utility>

#include "core/posix/durable_file.h"
#include "trial_runner/command_text.h"
#include "tuner/engines/command_engine.h"
#include "tuner/engines/program_call.h"
#include "tuner/engines/worker_programs.h"

namespace tune {
namespace {

constexpr size_t kHostsAtOnce = 16;
constexpr Duration kSshPatience = Seconds(60);
constexpr Duration kCopyPatience = Seconds(900);
constexpr char kSshFolder[] = ".cache/tune/engine";
constexpr uint64_t kTokenBytesMax = 4096;
constexpr int kSshFailed = 255;  // ssh itself, and not what it ran.

// Whether the worker of a folder with a file `pid` lives: its number may be another's by now.
constexpr char kLives[] =
    "lives() {\n"
    "  worker=$(cat \"$1/pid\" 2>/dev/null) || return 1\n"
    "  [ -n \"$worker\" ] && tr '\\0' ' ' <\"/proc/$worker/cmdline\" 2>/dev/null | "
    "grep -q -e \"--name $1 \"\n"
    "}\n";

std::string In(const std::string& folder) {
  return "umask 077\ncd \"$HOME\" && mkdir -p " + InSingleQuotes(folder) + " && cd " +
         InSingleQuotes(folder) + " || exit 1\n";
}

std::string ProbeScript(const std::string& folder, const std::string& hash) {
  return In(folder) + "uname -m\ngetconf GNU_LIBC_VERSION || echo none\n[ -e 'programs-" + hash +
         "/tune_worker' ] && echo here || echo missing\n";
}

// Read by tar from standard input; whole or not at all. Hosts may have one home folder, and copy at
// the same time: the first one's programs stay.
std::string CopyCommand(const std::string& folder, const std::string& hash) {
  const std::string place = "programs-" + hash;
  return "sh -c " +
         InSingleQuotes(
             "umask 077; cd \"$HOME\" && cd " + InSingleQuotes(folder) + " && new=$(mktemp -d " +
             place +
             ".XXXXXX) && tar -C $new -xf - && { sync -f $new 2>/dev/null || sync; mv -T $new " +
             place + " 2>/dev/null || rm -rf $new; } && [ -e " + place + "/tune_worker ]");
}

// The worker leads a session of its own, so that the connection's end does not reach it. It takes
// the token out of its environment.
std::string StartScript(const std::string& folder, const std::string& hash, const std::string& host,
                        const std::string& name, const PoolSpec& pool, const std::string& connect,
                        const std::string& token) {
  std::string script = In(folder) + kLives + "mkdir -p " + name + " && lives " + name +
                       " && exit 0\n"
                       "echo " +
                       InSingleQuotes(host) + " >" + name +
                       "/host\n"
                       "cat >" +
                       name + "/token <<'END_OF_TOKEN'\n" + token +
                       "\nEND_OF_TOKEN\n"
                       "TUNE_JOIN=$(cat " +
                       name +
                       "/token)\nexport TUNE_JOIN\n"
                       "setsid programs-" +
                       hash + "/tune_worker --connect " + InSingleQuotes(connect) + " --name " +
                       name;
  if (pool.worker.cpus) script += " --cpus " + std::to_string(*pool.worker.cpus);
  if (pool.worker.gpus) script += " --gpus " + std::to_string(*pool.worker.gpus);
  // The last word is looked for with a space behind it.
  script += " --cache-budget 50GiB </dev/null >" + name +
            "/log 2>&1 &\n"
            "echo $! >" +
            name + "/pid\n";
  return script + "rm " + name + "/token\n";
}

// SIGTERM gives its trials back; what has not ended after five seconds is killed, with all of its
// session. Its folder goes at once, so that no list has a half of it; what is killed may still
// write there, and is removed with the next one then.
std::string EndScript(const std::string& folder, const std::vector<std::string>& names) {
  std::string script = In(folder) + kLives;
  for (const std::string& name : names) {
    script += "if lives " + name +
              "; then\n"
              "  kill -TERM \"$worker\"\n"
              "  for i in 1 2 3 4 5 6 7 8 9 10; do\n"
              "    lives " +
              name +
              " || break\n"
              "    sleep 0.5\n"
              "  done\n"
              "  lives " +
              name +
              " && kill -KILL -\"$worker\"\n"
              "fi\n"
              "[ -d " +
              name + " ] && mv -T " + name + " .ended-" + name + ".$$\n";
  }
  return script + "rm -rf .ended-*\nexit 0\n";
}

// Where hosts have one home folder, each tells of its own workers.
std::string SshListScript(const std::string& folder, const std::string& host,
                          const std::string& prefix) {
  return "cd \"$HOME\" && cd " + InSingleQuotes(folder) + " 2>/dev/null || exit 0\n" + kLives +
         "for name in " + prefix +
         "*; do\n"
         "  [ \"$(cat \"$name/host\" 2>/dev/null)\" = " +
         InSingleQuotes(host) +
         " ] || continue\n"
         "  if lives \"$name\"; then echo \"$name running\"\n"
         "  else echo \"$name ended $(tail -n 1 \"$name/log\" 2>/dev/null)\"; fi\n"
         "done\n";
}

class SshEngine final : public Engine {
 public:
  SshEngine(const PoolSpec& pool, SshPlaces places, std::string prefix)
      : pool_(pool),
        places_(std::move(places)),
        prefix_(std::move(prefix)),
        folder_(pool.ssh->folder.empty() ? kSshFolder : pool.ssh->folder) {}

  std::vector<Status> Ask(const std::vector<std::string>& names,
                          const WorkerInvitation& invitation) override;
  Result<std::vector<Machine>> List() override;
  Status GiveBack(const std::vector<std::string>& names) override;
  std::string LogTail(const std::string& name) override;
  void CallOff() override { is_called_off_ = true; }
  void Cancel() override { is_cancelled_ = is_called_off_ = true; }

 private:
  // A worker that is to be started, and where.
  struct Start {
    size_t at = 0;  // Among the names.
    std::string name;
    std::string host;
    bool has_programs = false;
    Status status;
  };

  ProgramCall Ssh(const std::string& host, const std::string& command) const {
    ProgramCall call;
    call.words = {
        "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=15"};
    call.words.insert(call.words.end(), pool_.ssh->options.begin(), pool_.ssh->options.end());
    if (!pool_.ssh->user.empty()) {
      call.words.insert(call.words.end(), {"-l", pool_.ssh->user});
    }
    call.words.insert(call.words.end(), {"--", host, command});
    call.patience = kSshPatience;
    return call;
  }
  ProgramCall Script(const std::string& host, std::string script) const {
    ProgramCall call = Ssh(host, "sh -s");
    call.input = std::move(script);
    return call;
  }
  // `is_doubtful`: what it ran may have been done in spite of a broken connection.
  static Status Judge(const std::string& host, const Result<CallAnswer>& answer, bool is_doubtful) {
    if (!answer.ok()) return answer.status().At(host);
    if (answer->is_good()) return OkStatus();
    const std::string why = host + ": " + answer->Reason();
    const bool is_lost = answer->exit_status == kSshFailed && is_doubtful;
    return is_lost ? Unavailable(why) : FailedPrecondition(why);
  }

  std::vector<Start> ChooseHosts(const std::vector<std::string>& names);
  void Probe(std::vector<Start>& starts);
  void Copy(std::vector<Start>& starts);
  void Launch(std::vector<Start>& starts, const WorkerInvitation& invitation);

  const PoolSpec pool_;
  const SshPlaces places_;
  const std::string prefix_;
  const std::string folder_;
  std::map<std::string, std::string> hosts_;  // By name; of all that may run.
  std::map<std::string, int64_t> failures_;   // Of each host, in a row.
  std::optional<WorkerPrograms> programs_;
  std::atomic<bool> is_called_off_ = false;
  std::atomic<bool> is_cancelled_ = false;
};

// Those that failed least often first.
std::vector<SshEngine::Start> SshEngine::ChooseHosts(const std::vector<std::string>& names) {
  std::set<std::string> taken;
  for (const auto& [name, host] : hosts_) taken.insert(host);
  std::vector<std::string> free;
  for (const std::string& host : pool_.ssh->hosts) {
    if (!taken.contains(host)) free.push_back(host);
  }
  std::stable_sort(free.begin(), free.end(),
                   [this](const auto& a, const auto& b) { return failures_[a] < failures_[b]; });
  std::vector<Start> starts;
  for (size_t i = 0; i < names.size(); ++i) {
    Start start;
    start.at = i;
    start.name = names[i];
    if (const auto known = hosts_.find(names[i]); known != hosts_.end()) {
      start.host = known->second;
    } else if (!free.empty()) {
      start.host = free.front();
      free.erase(free.begin());
      hosts_[start.name] = start.host;
    } else {
      start.status = ResourceExhausted("all hosts of the pool have a worker");
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

void SshEngine::Probe(std::vector<Start>& starts) {
  std::vector<ProgramCall> calls;
  std::vector<Start*> called;
  for (Start& start : starts) {
    if (!start.status.ok()) continue;
    calls.push_back(Script(start.host, ProbeScript(folder_, programs_->hash)));
    called.push_back(&start);
  }
  const auto answers = CallPrograms(calls, kHostsAtOnce, is_called_off_);
  for (size_t i = 0; i < called.size(); ++i) {
    called[i]->status = Judge(called[i]->host, answers[i], /*is_doubtful=*/false);
    if (!called[i]->status.ok()) continue;
    const std::optional<SshProbe> probe = ParseSshProbe(answers[i]->out);
    if (!probe) {
      called[i]->status =
          FailedPrecondition(called[i]->host +
                             ": its shell does not say what machine it is; does it print anything "
                             "else when somebody logs in?");
      continue;
    }
    called[i]->status = CheckMachine(*programs_, probe->machine, probe->libc).At(called[i]->host);
    called[i]->has_programs = probe->has_programs;
  }
}

void SshEngine::Copy(std::vector<Start>& starts) {
  std::vector<ProgramCall> calls;
  std::vector<Start*> called;
  for (Start& start : starts) {
    if (!start.status.ok() || start.has_programs) continue;
    calls.push_back(Ssh(start.host, CopyCommand(folder_, programs_->hash)));
    calls.back().input_path = programs_->archive;
    calls.back().patience = kCopyPatience;
    called.push_back(&start);
  }
  const auto answers = CallPrograms(calls, kHostsAtOnce, is_called_off_);
  for (size_t i = 0; i < called.size(); ++i) {
    called[i]->status = Judge(called[i]->host, answers[i], /*is_doubtful=*/false);
  }
}

void SshEngine::Launch(std::vector<Start>& starts, const WorkerInvitation& invitation) {
  const Result<std::string> token = ReadFile(invitation.token_path, kTokenBytesMax);
  std::vector<ProgramCall> calls;
  std::vector<Start*> called;
  for (Start& start : starts) {
    if (!token.ok() && start.status.ok()) start.status = token.status();
    if (!start.status.ok()) continue;
    calls.push_back(Script(start.host, StartScript(folder_, programs_->hash, start.host, start.name,
                                                   pool_, invitation.connect, *token)));
    called.push_back(&start);
  }
  const auto answers = CallPrograms(calls, kHostsAtOnce, is_called_off_);
  for (size_t i = 0; i < called.size(); ++i) {
    called[i]->status = Judge(called[i]->host, answers[i], /*is_doubtful=*/true);
  }
}

std::vector<Status> SshEngine::Ask(const std::vector<std::string>& names,
                                   const WorkerInvitation& invitation) {
  if (!programs_) {
    Result<WorkerPrograms> packed =
        PackWorkerPrograms(places_.program_dir, places_.folder, is_called_off_);
    if (!packed.ok()) return std::vector<Status>(names.size(), packed.status());
    programs_ = *std::move(packed);
  }
  std::vector<Start> starts = ChooseHosts(names);
  Probe(starts);
  Copy(starts);
  Launch(starts, invitation);
  std::vector<Status> answers;
  for (const Start& start : starts) {
    answers.push_back(start.status);
    if (start.host.empty()) continue;
    if (start.status.ok()) {
      failures_.erase(start.host);
    } else {
      ++failures_[start.host];
      if (start.status.code() != StatusCode::kUnavailable) hosts_.erase(start.name);
    }
  }
  return answers;
}

// Of a host that is not reached what was there last is told: its worker may live.
Result<std::vector<Machine>> SshEngine::List() {
  std::vector<ProgramCall> calls;
  for (const std::string& host : pool_.ssh->hosts) {
    calls.push_back(Script(host, SshListScript(folder_, host, prefix_)));
  }
  const auto answers = CallPrograms(calls, kHostsAtOnce, is_cancelled_);
  std::map<std::string, std::string> found;
  std::vector<Machine> machines;
  Status last;
  bool is_any_reached = false;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string& host = pool_.ssh->hosts[i];
    const Status status = Judge(host, answers[i], /*is_doubtful=*/true);
    if (!status.ok()) {
      last = status;
      for (const auto& [name, where] : hosts_) {
        if (where != host) continue;
        machines.push_back({name, MachineState::kRunning, status.message(), /*is_reached=*/false});
        found[name] = host;
      }
      continue;
    }
    is_any_reached = true;
    TUNE_ASSIGN_OR_RETURN(const std::vector<Machine> here,
                          ParseMachineList(answers[i]->out, prefix_));
    for (const Machine& machine : here) {
      machines.push_back({machine.name, machine.state,
                          machine.state == MachineState::kEnded
                              ? host + ": its worker has ended: " + machine.reason
                              : "on " + host});
      found[machine.name] = host;
    }
  }
  if (!is_any_reached) return Unavailable(last.message());
  hosts_ = std::move(found);
  return machines;
}

Status SshEngine::GiveBack(const std::vector<std::string>& names) {
  // A new head does not know yet which host has which.
  const bool is_any_unknown = std::any_of(
      names.begin(), names.end(), [this](const auto& name) { return !hosts_.contains(name); });
  if (is_any_unknown) TUNE_RETURN_IF_ERROR(List().status());
  std::map<std::string, std::vector<std::string>> by_host;
  for (const std::string& name : names) {
    if (const auto host = hosts_.find(name); host != hosts_.end()) {
      by_host[host->second].push_back(name);
    }
  }
  std::vector<ProgramCall> calls;
  std::vector<std::string> hosts;
  for (const auto& [host, there] : by_host) {
    calls.push_back(Script(host, EndScript(folder_, there)));
    hosts.push_back(host);
  }
  Status first;
  const auto answers = CallPrograms(calls, kHostsAtOnce, is_cancelled_);
  for (size_t i = 0; i < answers.size(); ++i) {
    const Status status = Judge(hosts[i], answers[i], /*is_doubtful=*/true);
    if (first.ok()) first = status;
    if (!status.ok()) continue;
    for (const std::string& name : by_host[hosts[i]]) hosts_.erase(name);
  }
  return first;
}

std::string SshEngine::LogTail(const std::string& name) {
  const auto host = hosts_.find(name);
  if (host == hosts_.end()) return "";
  const Result<CallAnswer> answer = CallProgram(
      Script(host->second, In(folder_) + "tail -n 20 " + name + "/log\n"), is_cancelled_);
  return answer.ok() && answer->is_good() ? answer->out : "";
}

}  // namespace

std::optional<SshProbe> ParseSshProbe(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() < 3) return std::nullopt;
  const size_t first = lines.size() - 3;  // A greeting may stand before.
  const std::string& last = lines.back();
  if (last != "here" && last != "missing") return std::nullopt;
  SshProbe probe{lines[first], lines[first + 1] == "none" ? "" : lines[first + 1], last == "here"};
  return probe;
}

std::unique_ptr<Engine> MakeSshEngine(const PoolSpec& pool, const SshPlaces& places,
                                      const std::string& prefix) {
  return std::make_unique<SshEngine>(pool, places, prefix);
}

}  // namespace tune
