// tune: the program that people call. What must be quick, a trial's report, it does itself; it
// becomes the worker, which a machine may have alone, or for everything else the program beside it,
// which links much and takes 15 ms to start.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/posix/environment.h"
#include "tuner/cli/run/report_command.h"

namespace {

std::string PathOf(const std::string& name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

int Become(const std::string& path, char** argv) {
  execv(path.c_str(), argv);
  std::cerr << "tune: cannot start " << path << ": " << std::strerror(errno);
  if (errno == ENOENT && path.ends_with("/tune_cli")) {
    std::cerr << "; this machine has what runs trials alone (tune worker): install the package "
                 "tune beside tune-worker";
  }
  std::cerr << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "report") {
    const std::vector<std::string> arguments(argv + 2, argv + argc);
    if (!tune::AsksForPageReport(arguments)) {
      return tune::ReportCommand(arguments, tune::EnvironmentText("TUNE_SOCKET"), std::cout,
                                 std::cerr);
    }
  }
  if (command == "worker") {
    std::string path = PathOf("tune_worker");
    argv[1] = path.data();
    return Become(path, argv + 1);
  }
  return Become(PathOf("tune_cli"), argv);
}
