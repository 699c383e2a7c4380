// tune: the program that people call. What must be quick, a trial's report, it does itself; for
// everything else it becomes the program beside it, which links much and takes 15 ms to start.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "core/posix/environment.h"
#include "tuner/cli/report_command.h"

namespace {

int Become(const std::string& name, char** argv) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / name).string();
  execv(path.c_str(), argv);
  std::cerr << "tune: cannot start " << path << ": " << std::strerror(errno) << "\n";
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
  return Become("tune_cli", argv);
}
