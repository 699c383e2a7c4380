#include "tuner/cli/run/report_command.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <utility>

#include "core/metric.h"
#include "core/posix/file_descriptor.h"
#include "core/spaced_number.h"
#include "trial_runner/command/program_messages.h"
#include "trial_runner/command/runner_socket.h"

namespace tune {
namespace {

constexpr char kHelp[] =
    R"(Reports from within a trial: metrics, and a checkpoint to go on from.
Usage: tune report NAME=NUMBER... [--iteration N] [--checkpoint PATH]

  NAME=NUMBER        a metric; the sweep's own among them
  --iteration N      default: one more than the last report's; training_iteration=N says the same
  --checkpoint PATH  a file or a folder, copied before this returns; a trial that is tried again
                     finds it under $TUNE_RESTORED; write it into $TUNE_DIR, which is its own

It returns when the report is kept and decided on. Exit status: 0 go on, 10 stop (the trial is ended
after a while if it does not end by itself), 2 the report was not taken, 1 the tuner is gone.
Outside a sweep the report is printed, and the status is 0.

Example: tune report val_accuracy=0.91 --checkpoint "$TUNE_DIR/model.bin" || exit 0
)";

// As in Python, and in `stop`: no metric, but which iteration it is.
constexpr char kIterationName[] = "training_iteration";

template <typename T>
bool ReadWhole(std::string_view text, T& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Status TakeMetric(const std::string& argument, ProgramReport& report) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0 || argument.starts_with('-')) {
    return InvalidArgument("read '" + argument + "', expected NAME=NUMBER");
  }
  std::string name = argument.substr(0, equals);
  const std::string text = argument.substr(equals + 1);
  double number = 0;
  if (!ReadWhole(text, number)) {
    return InvalidArgument(name + ": read '" + text + "', expected a number");
  }
  // The sweep would keep one of the two in silence.
  if (HasMetric(report.metrics, name)) return InvalidArgument(name + ": reported twice");
  report.metrics.emplace_back(std::move(name), number);
  return OkStatus();
}

Status TakeOption(const std::string& name, const std::string& text, ProgramReport& report) {
  if (name == "--checkpoint") {
    std::error_code error;
    report.checkpoint = std::filesystem::absolute(text, error).lexically_normal().string();
    if (text.empty() || error) return InvalidArgument("--checkpoint: expected a path");
    return OkStatus();
  }
  int64_t number = 0;
  if (!ReadWhole(text, number) || number < 1) {
    return InvalidArgument(name + ": read '" + text + "', expected an integer from 1");
  }
  if (report.iteration) {
    return InvalidArgument(
        "--iteration and training_iteration are two names of one thing: give it once");
  }
  report.iteration = number;
  return OkStatus();
}

Result<ProgramReport> ReadArguments(const std::vector<std::string>& arguments) {
  ProgramReport report;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    if (name == kIterationName && name.size() < argument.size()) {
      TUNE_RETURN_IF_ERROR(TakeOption(name, argument.substr(name.size() + 1), report));
      continue;
    }
    if (name != "--checkpoint" && name != "--iteration") {
      TUNE_RETURN_IF_ERROR(TakeMetric(argument, report));
      continue;
    }
    const bool is_joined = name.size() < argument.size();
    if (!is_joined && i + 1 == arguments.size()) {
      return InvalidArgument(name + ": its value is missing");
    }
    TUNE_RETURN_IF_ERROR(
        TakeOption(name, is_joined ? argument.substr(name.size() + 1) : arguments[++i], report));
  }
  if (report.metrics.empty()) {
    return InvalidArgument("no metric is there; expected NAME=NUMBER, such as val_accuracy=0.91");
  }
  return report;
}

Result<std::string> Ask(const std::string& socket, std::string_view request) {
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor connection, ConnectToRunner(socket));
  while (!request.empty()) {
    const ssize_t count = send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Unavailable("the tuner is gone");
    request.remove_prefix(static_cast<size_t>(count));
  }
  std::string answer;
  char buffer[4096];
  while (!answer.ends_with('\n')) {
    const ssize_t count = recv(connection.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Unavailable("the tuner is gone");
    answer.append(buffer, static_cast<size_t>(count));
  }
  answer.pop_back();
  return answer;
}

void Print(const ProgramReport& report, std::ostream& out) {
  out << "report:";
  for (const auto& [name, value] : report.metrics) out << " " << name << "=" << value;
  out << " (in no sweep)\n";
}

}  // namespace

bool AsksForPageReport(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    const std::string option = argument.substr(0, argument.find('='));
    return option == "--html" || option == "--md";
  });
}

int ReportCommand(const std::vector<std::string>& arguments, const std::string& socket,
                  std::ostream& out, std::ostream& err) {
  constexpr int kExitUsage = 2;
  const auto complain = [&err](const Status& status, int exit_status) {
    err << "tune report: " << status.message() << "\n";
    return exit_status;
  };
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    out << kHelp;
    return 0;
  }
  std::vector<std::string> trimmed;
  for (const std::string& argument : arguments) trimmed.push_back(TrimAroundNumber(argument));
  const Result<ProgramReport> report = ReadArguments(trimmed);
  if (!report.ok()) {
    // The sweep tells of it; a script may pass over our status.
    if (!socket.empty()) (void)Ask(socket, EncodeRefusal(report.status().message()));
    return complain(report.status(), kExitUsage);
  }
  if (socket.empty()) {
    Print(*report, out);
    return 0;
  }
  const Result<std::string> line = Ask(socket, EncodeProgramReport(*report));
  if (!line.ok()) return complain(line.status(), 1);
  const Result<ProgramAnswer> answer = ParseProgramAnswer(*line);
  if (!answer.ok()) return complain(answer.status(), kExitUsage);
  return answer->stops ? kExitToldToStop : 0;
}

}  // namespace tune
