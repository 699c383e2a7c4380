#include "tuner/cli/head/cluster_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/posix/child_process.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/read_bytes.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/cluster_changes.h"
#include "tuner/cli/head/cluster_leftovers.h"
#include "tuner/cli/head/cluster_lines.h"
#include "tuner/cli/head/cluster_state.h"
#include "tuner/cli/words/complain.h"
#include "tuner/control/control_client.h"
#include "tuner/engines/cluster_change.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kHeadPatience = Seconds(10);
constexpr Duration kHeadEndPatience = Seconds(30);

class ClusterTalk {
 public:
  ClusterTalk(const ClusterOptions& options, ClusterSpec cluster, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err)
      : options_(options),
        cluster_(std::move(cluster)),
        clock_(clock),
        wait_(wait),
        out_(out),
        err_(err),
        changes_(err) {}

  int Up();
  int ShowStatus();
  int Down();

 private:
  // kNotFound: no head holds the database.
  Result<Value> Ask(ControlVerb verb);
  // `words`: what it says until it runs, or says why it does not.
  Status StartHead(std::string& words);
  // The head's state: of one that lives, which is told what has changed in the file, or of a new
  // one.
  Result<Value> FindOrStartHead();
  Status CheckIsOurs(const Value& state) const;
  int GiveUp(const std::string& what, const Value& state);
  int StayUp(const Status& why);
  int EndHead();
  int DownWithoutHead() { return GiveBackLeftovers(options_, cluster_, clock_, wait_, out_, err_); }

  const ClusterOptions& options_;
  const ClusterSpec cluster_;
  const Clock& clock_;
  const WaitFunction& wait_;
  std::ostream& out_;
  std::ostream& err_;
  ClusterChanges changes_;
  bool is_head_ = false;       // Who held the database when it was asked last.
  int64_t head_ = 0;           // Its process,
  bool is_head_seen_ = false;  // which may be in another container.
};

Result<Value> ClusterTalk::Ask(ControlVerb verb) {
  const std::optional<LockHolder> holder = FindLockHolder(options_.db_path);
  is_head_ = holder && holder->is_head;
  if (!holder) return NotFound("no head holds " + options_.db_path);
  if (!is_head_) {
    return FailedPrecondition(options_.db_path + ": is held by " + DescribeHolder(*holder));
  }
  head_ = holder->pid;
  is_head_seen_ = IsSeenHere(*holder);
  ControlRequest request;
  request.verb = verb;
  request.tuner = holder->pid;
  request.sweep = "all";
  request.now = verb == ControlVerb::kClusterDown && options_.now;
  if (verb == ControlVerb::kClusterDown) request.alone_with = options_.alone_with;
  if (verb == ControlVerb::kClusterSet) {
    request.file = cluster_.path;
    request.document = ToJson(cluster_.document);
  }
  TUNE_ASSIGN_OR_RETURN(const ControlAnswer answer,
                        AskTuner(ArtifactsDirOf(options_.db_path), request, clock_, kHeadPatience));
  if (!answer.status.ok()) return answer.status.At(DescribeHolder(*holder));
  if (answer.lines.empty()) return Internal("the head's answer is empty");
  for (size_t i = 1; i < answer.lines.size(); ++i) {
    err_ << "changed: " << PrintableLines(answer.lines[i]) << std::endl;
  }
  return ParseJson(answer.lines.front());
}

Status ClusterTalk::StartHead(std::string& words) {
  const FileDescriptor said(memfd_create("head", MFD_CLOEXEC));
  if (!said.is_open()) return Unavailable("no memory for what the head says");
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> head,
                        ChildProcess::Start(options_.program_dir + "/tune_cli",
                                            {"--db", options_.db_path, "head", "--detach",
                                             "--cluster", cluster_.path},
                                            {}, /*output=*/-1, /*error=*/said.get()));
  while (!head->HasEnded()) {
    if (!wait_(kClusterLooksEvery)) return Unavailable("interrupted before the head ran");
  }
  words = ReadBytes("/proc/self/fd/" + std::to_string(said.get()));
  if (head->exit_status() == 0) return OkStatus();
  return Status(head->exit_status() == 2 ? StatusCode::kInvalidArgument : StatusCode::kUnavailable,
                "the head did not start");
}

// Of several that start one at a time, one does; the others find it.
Result<Value> ClusterTalk::FindOrStartHead() {
  for (const Instant begun = clock_.Now();;) {
    Result<Value> state = Ask(ControlVerb::kCluster);
    if (is_head_ && options_.has_found_head != nullptr) *options_.has_found_head = true;
    if (state.ok()) {
      TUNE_RETURN_IF_ERROR(CheckIsOurs(*state));
      err_ << "the head runs (pid " << head_ << ")" << std::endl;
      return Ask(ControlVerb::kClusterSet);
    }
    const bool is_late = clock_.Now() >= begun + kHeadPatience;
    if (state.status().code() != StatusCode::kNotFound) {
      // Who holds the database may be a head that has not said so yet.
      if (!is_head_ && !is_late && wait_(kClusterLooksEvery)) continue;
      return state.status();
    }
    std::string words;
    const Status started = StartHead(words);
    const bool may_be_found = FindLockHolder(options_.db_path).has_value() ||
                              words.find(kAnotherHeadHasIt) != std::string::npos;
    if (!started.ok() && may_be_found && !is_late && wait_(kClusterLooksEvery)) continue;
    err_ << words << std::flush;
    if (!started.ok()) return started;
    return Ask(ControlVerb::kCluster);
  }
}

Status ClusterTalk::CheckIsOurs(const Value& state) const {
  const std::string name = TextMemberOf(state, "cluster");
  if (name == cluster_.name) return OkStatus();
  return FailedPrecondition("the head of " + options_.db_path + " has the cluster " + name + " (" +
                            TextMemberOf(state, "file") + "), not " + cluster_.name +
                            "; --db names another database");
}

// With the engine's own words.
int ClusterTalk::GiveUp(const std::string& what, const Value& state) {
  err_ << "tune: " << what << " within " << FormatDuration(options_.patience) << "\n";
  TellWhatIsLeft(state, options_.width, err_);
  return 1;
}

int ClusterTalk::Up() {
  Result<Value> state = FindOrStartHead();
  const Instant begun = clock_.Now();
  for (;;) {
    if (!state.ok()) return Complain(state.status(), err_);
    if (MemberOf(*state, "is_closing") == Value(true)) {
      return Complain(FailedPrecondition("the cluster goes down; wait until it is"), err_);
    }
    changes_.Show(*state);
    if (MemberOf(*state, "is_ready") == Value(true)) break;
    if (clock_.Now() >= begun + options_.patience) {
      return GiveUp("the pools did not get their minimum of workers", *state);
    }
    if (!wait_(kClusterLooksEvery)) return kClusterLeft;
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
    if (options_.alone_with && state.status().code() == StatusCode::kFailedPrecondition) {
      return StayUp(state.status());
    }
  }
  const Instant begun = clock_.Now();
  for (;;) {
    if (state.status().code() == StatusCode::kNotFound) return DownWithoutHead();
    if (!state.ok()) return Complain(state.status(), err_);
    changes_.Show(*state);
    if (MemberOf(*state, "is_empty") == Value(true)) {
      const int ended = EndHead();
      if (ended == 0) {
        out_ << "the cluster " << cluster_.name << " is down: the engines have nothing left of it"
             << std::endl;
      }
      return ended;
    }
    if (TellUnreached(*state, err_)) {
      const int ended = EndHead();
      return ended != 0 ? ended : 1;
    }
    if (clock_.Now() >= begun + options_.patience) {
      return GiveUp("not all workers are gone", *state);
    }
    if (!wait_(kClusterLooksEvery)) return kClusterLeft;
    state = Ask(ControlVerb::kCluster);
  }
}

int ClusterTalk::StayUp(const Status& why) {
  if (options_.stays_up != nullptr) *options_.stays_up = true;
  err_ << "the cluster " << cluster_.name << " stays up: " << PrintableLines(why.message())
       << "; the last tune run on it takes it down, or tune cluster down " << options_.path
       << " does" << std::endl;
  return 0;
}

int ClusterTalk::EndHead() {
  if (!is_head_seen_) {
    return Complain(Unavailable("all workers are gone, and the head (pid " + std::to_string(head_) +
                                ") runs in another container or on another machine; end it there"),
                    err_);
  }
  kill(static_cast<pid_t>(head_), SIGTERM);
  const Instant begun = clock_.Now();
  while (const std::optional<LockHolder> holder = FindLockHolder(options_.db_path)) {
    if (holder->pid != head_) break;
    if (clock_.Now() >= begun + kHeadEndPatience) {
      return Complain(Unavailable("all workers are gone, and the head (pid " +
                                  std::to_string(head_) + ") has not ended"),
                      err_);
    }
    if (!wait_(kClusterLooksEvery)) return kClusterLeft;
  }
  return 0;
}

// `read`: the file as it is. Of one that is gone or broken what the cluster was up with counts. So
// do pools of it that are not in the file any more, or by whose new settings the engine would not
// find what they have: they may have workers.
Result<ClusterSpec> WithWhatIsRemembered(Result<ClusterSpec> read, const ClusterOptions& options,
                                         std::ostream& err) {
  Result<ClusterSpec> remembered = ClusterState::RememberedFile(ArtifactsDirOf(options.db_path));
  if (!remembered.ok()) return read;
  if (!read.ok()) {
    std::error_code error;
    const bool is_it = options.path.empty() ||
                       std::filesystem::absolute(options.path, error).lexically_normal().string() ==
                           remembered->path;
    if (!is_it) return read;
    err << "tune: " << PrintableLines(read.status().message())
        << "\ntune: goes on with the file as it was when the cluster " << remembered->name
        << " came up" << std::endl;
    return remembered;
  }
  if (read->name != remembered->name) return read;
  for (const PoolSpec& pool : remembered->pools) {
    const auto there = std::find_if(read->pools.begin(), read->pools.end(),
                                    [&pool](const PoolSpec& p) { return p.name == pool.name; });
    if (there == read->pools.end()) {
      read->pools.push_back(pool);
    } else if (const auto differences = LosesMachines(pool, *there); !differences.empty()) {
      err << "tune: " << PrintableLines(differences.front())
          << " has changed since the cluster came up; goes on with what it was" << std::endl;
      *there = pool;
    }
  }
  return read;
}

}  // namespace

int ClusterCommand(const ClusterOptions& options, const Clock& clock, const WaitFunction& wait,
                   std::ostream& out, std::ostream& err) {
  if (options.action.empty()) {
    return Complain(
        InvalidArgument("tune cluster: the action is missing; expected up, which starts the head "
                        "and its pools, status, which shows them, or down, which gives all workers "
                        "back, such as: tune cluster up cluster.yaml"),
        err);
  }
  const std::string path = options.path.empty() ? "cluster.yaml" : options.path;
  Result<ClusterSpec> cluster = ReadClusterFile(path);
  if (options.action != "up") cluster = WithWhatIsRemembered(std::move(cluster), options, err);
  if (!cluster.ok()) return Complain(cluster.status(), err);
  ClusterTalk talk(options, *std::move(cluster), clock, wait, out, err);
  if (options.action == "up") return talk.Up();
  if (options.action == "down") return talk.Down();
  return talk.ShowStatus();
}

}  // namespace tune
