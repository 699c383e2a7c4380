#include "trial_runner/devices/mps_daemon.h"

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <fstream>

namespace tune {

bool RunsMps(const std::string& pipe_directory) {
  const std::string folder = pipe_directory.empty() ? "/tmp/nvidia-mps" : pipe_directory;
  std::ifstream file(folder + "/nvidia-cuda-mps-control.pid");
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 0) return false;
  return kill(pid, 0) == 0 || errno == EPERM;
}

}  // namespace tune
