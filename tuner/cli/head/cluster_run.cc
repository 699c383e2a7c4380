#include "tuner/cli/head/cluster_run.h"

#include <sstream>
#include <string>

#include "core/utf8.h"
#include "tuner/cli/head/cluster_command.h"
#include "tuner/cli/head/submit_command.h"
#include "tuner/cli/look/attach_command.h"

namespace tune {
namespace {

constexpr int kMistakeStatus = 2;

int SubmitAndWatch(const RunOptions& options, const Clock& clock, const WaitFunction& wait,
                   LiveScreen& screen, std::ostream& out, std::ostream& err) {
  SubmitOptions submit;
  submit.run = options;
  submit.words = {options.space_path};
  std::ostringstream printed;
  if (const int status = SubmitCommand(submit, clock, wait, printed, err); status != 0) {
    return status;
  }
  AttachOptions attach;
  attach.db_path = options.db_path;
  attach.name = printed.str();  // A line.
  attach.name.erase(attach.name.find_last_not_of('\n') + 1);
  if (options.print_name) out << attach.name << std::endl;
  const int status = AttachCommand(attach, clock, wait, screen, out, err);
  if (status == kClusterLeft) {
    err << PrintableLines(attach.name) << " is interrupted; it goes on with: tune cluster up "
        << options.cluster_path << std::endl;
  }
  return status;
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
  if (status == 0) status = SubmitAndWatch(options, clock, wait, screen, out, err);
  if (was_up) return status;
  cluster.action = "down";
  const int down = ClusterCommand(cluster, clock, wait, err, err);
  return status != 0 ? status : down;
}

}  // namespace tune
