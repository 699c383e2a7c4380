#include "tuner/cli/cluster_command.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/posix/child_process.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/cluster_lines.h"
#include "tuner/cli/cluster_state.h"
#include "tuner/cli/complain.h"
#include "tuner/control/control_client.h"
#include "tuner/engines/pool_book.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kHeadPatience = Seconds(10);
constexpr Duration kLookEvery = Milliseconds(100);
constexpr Duration kLookAtEngineEvery = Seconds(1);
constexpr Duration kHeadEndPatience = Seconds(30);
constexpr int kInterruptedStatus = 130;

const Value& Of(const Value& map, const char* key) {
  static const Value nothing;
  const Value* const found = map.is_map() ? map.Find(key) : nullptr;
  return found == nullptr ? nothing : *found;
}

std::string TextOf(const Value& map, const char* key) {
  const Value& value = Of(map, key);
  return value.is_string() ? value.AsString() : "";
}

class ClusterTalk {
 public:
  ClusterTalk(const ClusterOptions& options, ClusterSpec cluster, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err)
      : options_(options),
        cluster_(std::move(cluster)),
        clock_(clock),
        wait_(wait),
        out_(out),
        err_(err) {}

  int Up();
  int ShowStatus();
  int Down();

 private:
  // kNotFound: no head holds the database.
  Result<Value> Ask(ControlVerb verb);
  Status StartHead();
  Status CheckIsOurs(const Value& state) const;
  // Of requests what has changed since the last time.
  void ShowChanges(const Value& state);
  int GiveUp(const std::string& what, const Value& state);
  int EndHead();
  int DownWithoutHead();
  Result<size_t> LookAtEngines(const std::vector<std::unique_ptr<Engine>>& engines);

  const ClusterOptions& options_;
  const ClusterSpec cluster_;
  const Clock& clock_;
  const WaitFunction& wait_;
  std::ostream& out_;
  std::ostream& err_;
  std::map<std::string, std::string> shown_;  // By worker.
  int64_t head_ = 0;
};

Result<Value> ClusterTalk::Ask(ControlVerb verb) {
  const std::optional<LockHolder> holder = FindLockHolder(options_.db_path);
  if (!holder) return NotFound("no head holds " + options_.db_path);
  if (!holder->is_head) {
    return FailedPrecondition(options_.db_path + ": is held by " + DescribeHolder(*holder));
  }
  head_ = holder->pid;
  ControlRequest request;
  request.verb = verb;
  request.tuner = holder->pid;
  request.sweep = "all";
  request.now = verb == ControlVerb::kClusterDown && options_.now;
  TUNE_ASSIGN_OR_RETURN(const ControlAnswer answer,
                        AskTuner(ArtifactsDirOf(options_.db_path), request, clock_, kHeadPatience));
  if (!answer.status.ok()) return answer.status.At(DescribeHolder(*holder));
  if (answer.lines.empty()) return Internal("the head's answer is empty");
  return ParseJson(answer.lines.front());
}

// Its words are shown until it runs, or says why it does not.
Status ClusterTalk::StartHead() {
  TUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ChildProcess> head,
      ChildProcess::Start(
          options_.program_dir + "/tune_cli",
          {"--db", options_.db_path, "head", "--detach", "--cluster", options_.path}, {}));
  while (!head->HasEnded()) {
    if (!wait_(kLookEvery)) return Unavailable("interrupted before the head ran");
  }
  if (head->exit_status() == 0) return OkStatus();
  return Status(head->exit_status() == 2 ? StatusCode::kInvalidArgument : StatusCode::kUnavailable,
                "the head did not start");
}

Status ClusterTalk::CheckIsOurs(const Value& state) const {
  const std::string name = TextOf(state, "cluster");
  if (name == cluster_.name) return OkStatus();
  return FailedPrecondition("the head of " + options_.db_path + " has the cluster " + name + " (" +
                            TextOf(state, "file") + "), not " + cluster_.name +
                            "; --db names another database");
}

void ClusterTalk::ShowChanges(const Value& state) {
  std::map<std::string, std::string> now;
  const auto gather = [&now](const Value& list, const char* state_key, const char* why_key) {
    if (!list.is_list()) return;
    for (const Value& one : list.AsList()) {
      const std::string word = state_key == nullptr ? "failed" : TextOf(one, state_key);
      const std::string why = TextOf(one, why_key);
      now[TextOf(one, "worker")] = word + (why.empty() ? "" : ": " + why);
    }
  };
  gather(Of(state, "failed"), nullptr, "why");
  gather(Of(state, "workers"), "state", "reason");
  if (const Value& pools = Of(state, "pools"); pools.is_list()) {
    for (const Value& pool : pools.AsList()) {
      // How long it rests changes with each look.
      const std::string why = TextOf(pool, "why");
      const size_t colon = why.starts_with("rests") ? why.find(": ") : std::string::npos;
      if (why.empty()) continue;
      now["pool " + TextOf(pool, "pool")] =
          colon == std::string::npos ? why : "rests after " + why.substr(colon + 2);
    }
  }
  for (const auto& [name, text] : now) {
    if (shown_[name] != text) err_ << PrintableLines(name + "  " + text) << std::endl;
  }
  for (const auto& [name, text] : shown_) {
    if (!now.contains(name) && !name.starts_with("pool ")) {
      err_ << PrintableLines(name + "  is gone") << std::endl;
    }
  }
  shown_ = std::move(now);
}

// With the engine's own words.
int ClusterTalk::GiveUp(const std::string& what, const Value& state) {
  err_ << "tune: " << what << " within " << FormatDuration(options_.patience) << "\n";
  PrintCluster(state, options_.width, err_);
  if (const Value& failed = Of(state, "failed"); failed.is_list() && !failed.AsList().empty()) {
    const Value& last = failed.AsList().back();
    if (const Value& log = Of(last, "log"); log.is_list() && !log.AsList().empty()) {
      err_ << "\nthe last lines of " << TextOf(last, "worker") << ":\n";
      for (const Value& line : log.AsList()) err_ << "  " << ShortText(line) << "\n";
    }
  }
  err_ << std::flush;
  return 1;
}

int ClusterTalk::Up() {
  Result<Value> state = Ask(ControlVerb::kCluster);
  if (state.status().code() == StatusCode::kNotFound) {
    if (const Status started = StartHead(); !started.ok()) return Complain(started, err_);
    state = Ask(ControlVerb::kCluster);
  } else if (state.ok()) {
    if (const Status ours = CheckIsOurs(*state); !ours.ok()) return Complain(ours, err_);
    err_ << "the head runs (pid " << head_ << ")" << std::endl;
  }
  const Instant begun = clock_.Now();
  for (;;) {
    if (!state.ok()) return Complain(state.status(), err_);
    if (Of(*state, "is_closing") == Value(true)) {
      return Complain(FailedPrecondition("the cluster goes down; wait until it is"), err_);
    }
    ShowChanges(*state);
    if (Of(*state, "is_ready") == Value(true)) break;
    if (clock_.Now() >= begun + options_.patience) {
      return GiveUp("the pools did not get their minimum of workers", *state);
    }
    if (!wait_(kLookEvery)) return kInterruptedStatus;
    state = Ask(ControlVerb::kCluster);
  }
  out_ << "the cluster " << cluster_.name << " is up; tune cluster status shows it, tune cluster "
       << "down ends it" << std::endl;
  return 0;
}

int ClusterTalk::ShowStatus() {
  const Result<Value> state = Ask(ControlVerb::kCluster);
  if (!state.ok()) {
    const bool is_gone = state.status().code() == StatusCode::kNotFound;
    return Complain(is_gone ? Unavailable(state.status().message() +
                                          "; tune cluster up starts it, tune cluster down gives "
                                          "back what it has left")
                            : state.status(),
                    err_);
  }
  if (const Status ours = CheckIsOurs(*state); !ours.ok()) return Complain(ours, err_);
  if (options_.format == OutputFormat::kJson) {
    out_ << ToJson(*state) << std::endl;
  } else {
    PrintCluster(*state, options_.width, out_);
  }
  return 0;
}

int ClusterTalk::Down() {
  Result<Value> state = Ask(ControlVerb::kCluster);
  if (state.status().code() == StatusCode::kNotFound) return DownWithoutHead();
  if (state.ok()) {
    if (const Status ours = CheckIsOurs(*state); !ours.ok()) return Complain(ours, err_);
    state = Ask(ControlVerb::kClusterDown);
  }
  const Instant begun = clock_.Now();
  for (;;) {
    if (state.status().code() == StatusCode::kNotFound) return DownWithoutHead();
    if (!state.ok()) return Complain(state.status(), err_);
    ShowChanges(*state);
    if (Of(*state, "is_empty") == Value(true)) return EndHead();
    if (clock_.Now() >= begun + options_.patience) {
      return GiveUp("not all workers are gone", *state);
    }
    if (!wait_(kLookEvery)) return kInterruptedStatus;
    state = Ask(ControlVerb::kCluster);
  }
}

int ClusterTalk::EndHead() {
  kill(static_cast<pid_t>(head_), SIGTERM);
  const Instant begun = clock_.Now();
  while (const std::optional<LockHolder> holder = FindLockHolder(options_.db_path)) {
    if (holder->pid != head_) break;
    if (clock_.Now() >= begun + kHeadEndPatience) {
      return Complain(Unavailable("all workers are gone, and the head (pid " +
                                  std::to_string(head_) + ") has not ended"),
                      err_);
    }
    if (!wait_(kLookEvery)) return kInterruptedStatus;
  }
  out_ << "the cluster " << cluster_.name << " is down: the engines have nothing left of it"
       << std::endl;
  return 0;
}

// How many machines there are; they are given back.
Result<size_t> ClusterTalk::LookAtEngines(const std::vector<std::unique_ptr<Engine>>& engines) {
  size_t left = 0;
  for (size_t i = 0; i < engines.size(); ++i) {
    const Result<std::vector<Machine>> machines = engines[i]->List();
    if (!machines.ok()) return machines.status().At("pool " + cluster_.pools[i].name);
    std::vector<std::string> names;
    for (const Machine& machine : *machines) {
      if (machine.state != MachineState::kEnded) names.push_back(machine.name);
    }
    left += names.size();
    if (names.empty()) continue;
    for (const std::string& name : names) {
      if (std::exchange(shown_[name], "returning") != "returning") {
        err_ << name << "  returning" << std::endl;
      }
    }
    const Status returned = engines[i]->GiveBack(names);
    if (!returned.ok()) return returned.At("pool " + cluster_.pools[i].name);
  }
  return left;
}

int ClusterTalk::DownWithoutHead() {
  Result<FileDescriptor> lock = LockClusterFile(options_.path);
  if (!lock.ok()) return Complain(lock.status(), err_);
  Result<ClusterState> state = ClusterState::Open(ArtifactsDirOf(options_.db_path), cluster_);
  if (state.status().code() == StatusCode::kNotFound) {
    out_ << "the cluster " << cluster_.name << " is down" << std::endl;
    return 0;
  }
  if (!state.ok()) return Complain(state.status(), err_);
  const auto engines = MakeEngines(cluster_, *state, options_.program_dir);
  const Instant begun = clock_.Now();
  for (;;) {
    const Result<size_t> left = LookAtEngines(engines);
    if (left.ok() && *left == 0) break;
    if (clock_.Now() >= begun + options_.patience) {
      return Complain(left.ok() ? Unavailable(std::to_string(*left) + " machines are still there")
                                : Unavailable(left.status().message()),
                      err_);
    }
    if (!wait_(kLookAtEngineEvery)) return kInterruptedStatus;
  }
  if (const Status kept = state->Keep(Value()); !kept.ok()) return Complain(kept, err_);
  out_ << "the cluster " << cluster_.name << " is down: the engines have nothing left of it"
       << std::endl;
  return 0;
}

}  // namespace

int ClusterCommand(const ClusterOptions& options, const Clock& clock, const WaitFunction& wait,
                   std::ostream& out, std::ostream& err) {
  Result<ClusterSpec> cluster = ReadClusterFile(options.path);
  if (!cluster.ok()) return Complain(cluster.status(), err);
  ClusterTalk talk(options, *std::move(cluster), clock, wait, out, err);
  if (options.action == "up") return talk.Up();
  if (options.action == "down") return talk.Down();
  return talk.ShowStatus();
}

}  // namespace tune
