#include "tuner/cli/head/cluster_run.h"

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>

#include "core/posix/durable_file.h"
#include "core/utf8.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/cluster_command.h"
#include "tuner/cli/head/submit_command.h"
#include "tuner/cli/look/attach_command.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr int kMistakeStatus = 2;
constexpr uint64_t kMarkBytesMax = 4096;

// The file that names the head which a `tune run` began. A head that a person began is not in it.
std::string MarkOf(const std::string& db_path) {
  return ArtifactsDirOf(db_path) + "/cluster/begun_by_run";
}

// Of the head that holds the database now; empty: there is none.
std::string HeadOf(const std::string& db_path) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder || !holder->is_head) return "";
  return holder->host + " " + std::to_string(holder->pid) + " " + std::to_string(holder->since.us);
}

bool IsBegunByRun(const std::string& db_path) {
  const std::string head = HeadOf(db_path);
  const Result<std::string> mark = ReadFile(MarkOf(db_path), kMarkBytesMax);
  return !head.empty() && mark.ok() && *mark == head;
}

// Other commands that run on the cluster find the mark when they end. Without it this one alone
// takes the cluster down.
void MarkHead(const std::string& db_path, std::ostream& err) {
  const std::string head = HeadOf(db_path);
  if (head.empty()) return;
  if (const Status s = WriteFileSynced(MarkOf(db_path), head); !s.ok()) {
    err << "warning: " << PrintableLines(s.message()) << std::endl;
  }
}

// `name`: becomes the sweep's.
int SubmitAndWatch(const RunOptions& options, const Clock& clock, const WaitFunction& wait,
                   LiveScreen& screen, std::ostream& out, std::ostream& err, std::string& name) {
  SubmitOptions submit;
  submit.run = options;
  submit.words = {options.space_path};
  std::ostringstream printed;
  if (const int status = SubmitCommand(submit, clock, wait, printed, err); status != 0) {
    return status;
  }
  name = printed.str();  // A line.
  name.erase(name.find_last_not_of('\n') + 1);
  AttachOptions attach;
  attach.db_path = options.db_path;
  attach.name = name;
  if (options.print_name) out << name << std::endl;
  return AttachCommand(attach, clock, wait, screen, out, err);
}

}  // namespace

int RunOnCluster(const RunOptions& options, const Clock& clock, const WaitFunction& wait,
                 LiveScreen& screen, std::ostream& out, std::ostream& err) {
  bool was_up = false;
  ClusterOptions cluster;
  cluster.has_found_head = &was_up;
  cluster.action = "up";
  cluster.path = options.cluster_path;
  cluster.db_path = options.db_path;
  cluster.program_dir = options.program_dir;
  int status = ClusterCommand(cluster, clock, wait, err, err);
  if (status == kMistakeStatus) return status;  // Nothing came up.
  if (!was_up) MarkHead(options.db_path, err);
  std::string name;
  if (status == 0) status = SubmitAndWatch(options, clock, wait, screen, out, err, name);
  if (was_up && !IsBegunByRun(options.db_path)) return status;
  bool stays_up = false;
  cluster.action = "down";
  cluster.alone_with = name;
  cluster.stays_up = &stays_up;
  const int down = ClusterCommand(cluster, clock, wait, err, err);
  if (status == kClusterLeft && !name.empty() && !stays_up) {
    err << PrintableLines(name) << " is interrupted; it goes on with: tune cluster up "
        << options.cluster_path << std::endl;
  }
  return status != 0 ? status : down;
}

}  // namespace tune
