#include "tuner/cli/run/init_command.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/input_error.h"
#include "core/posix/durable_file.h"
#include "tuner/cli/keep/program_output.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

constexpr Duration kReadTimeMax = Milliseconds(60'000);

// What only a person can do stands in the file as a comment: it is shown at once, too.
void TellWhatIsLeft(const std::string& space, std::ostream& err) {
  constexpr std::string_view kMark = "# TO DO: ";
  std::istringstream lines(space);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || !line.substr(begin).starts_with(kMark)) continue;
    err << "init: to do: " << line.substr(begin + kMark.size()) << "\n";
  }
}

// The way from the space file's folder back to this one, in which the script's path holds; "."
// where they are one.
std::string WorkingDirOf(const std::string& space_path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path back = fs::relative(here, (here / space_path).parent_path(), error);
  return error || back.empty() ? "." : back.string();
}

}  // namespace

int InitCommand(const InitOptions& options, std::ostream& out, std::ostream& err) {
  const bool to_file = options.space_path != "-";
  if (access(options.script.c_str(), R_OK) != 0) {
    return Complain(InvalidArgument(options.script + ": there is no such file that can be read"),
                    err);
  }
  if (to_file && !options.force && access(options.space_path.c_str(), F_OK) == 0) {
    return Complain(InvalidArgument(options.space_path +
                                    ": is there already; --force writes over it, -o names another "
                                    "file, -o - prints it"),
                    err);
  }
  std::vector<std::string> arguments = {"python3", "-E", "-s",
                                        options.program_dir + "/python/tune_init", options.script};
  if (!options.command.empty()) arguments.insert(arguments.end(), {"--command", options.command});
  if (!options.log.empty()) arguments.insert(arguments.end(), {"--log", options.log});
  const std::string working_dir = to_file ? WorkingDirOf(options.space_path) : ".";
  if (working_dir != ".") arguments.insert(arguments.end(), {"--working-dir", working_dir});
  const Result<ProgramOutput> space = RunForOutput(arguments, kReadTimeMax);
  if (space.status().code() == StatusCode::kUnavailable && !options.log.empty()) {
    return Complain(FailedPrecondition(options.log + ": init has not read the log to its end (" +
                                       space.status().message() +
                                       "): pass a shorter one, such as that of a few epochs"),
                    err);
  }
  if (!space.ok()) {
    return Complain(
        FailedPrecondition(
            "init reads scripts with python3 (3.9 or later): " + space.status().message() +
            "; docs/SPACE.md and docs/COMMAND.md say how a space file is "
            "written by hand"),
        err);
  }
  const std::string reader = arguments[3] + "/__main__.py";
  if (space->exit_status != 0 && access(reader.c_str(), R_OK) != 0) {
    return Complain(NotFound(reader + " is not there, which reads scripts; it is installed beside "
                                      "the programs (tune doctor says what is missing)"),
                    err);
  }
  if (space->exit_status != 0) {
    const std::string why = space->out.substr(0, space->out.find('\n'));
    return Complain(
        InvalidArgument(why.empty() ? options.script + ": python3 could not read it" : why), err);
  }
  TellWhatIsLeft(space->out, err);
  if (!to_file) {
    out << space->out;
    return 0;
  }
  std::ofstream file(options.space_path, std::ios::trunc);
  file << space->out;
  if (!file.flush()) return Complain(Unavailable(options.space_path + ": cannot be written"), err);
  out << options.space_path << " is written; look it over, then: tune run " << options.space_path
      << " --dry-run, tune run " << options.space_path << " --try-one, tune run "
      << options.space_path << "\n";
  return 0;
}

}  // namespace tune
