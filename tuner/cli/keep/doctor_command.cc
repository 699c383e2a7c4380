#include "tuner/cli/keep/doctor_command.h"

#include <filesystem>
#include <utility>

#include "core/posix/environment.h"
#include "tuner/cli/keep/database_check.h"
#include "tuner/cli/keep/machine_check.h"
#include "tuner/cli/words/finding.h"

namespace tune {
namespace {

const char* StateName(FindingState state) {
  switch (state) {
    case FindingState::kOk:
      return "ok";
    case FindingState::kWarning:
      return "warning";
    case FindingState::kProblem:
      return "problem";
  }
  return "problem";
}

// One line an item; what a person does about it stands behind it, and is not cut.
void PrintLines(const Findings& findings, std::ostream& out) {
  size_t widest = 0;
  for (const Finding& finding : findings) {
    widest = std::max(widest, DisplayWidth(finding.item));
  }
  for (const Finding& finding : findings) {
    const std::string state = StateName(finding.state);
    out << state << std::string(9 - state.size(), ' ') << finding.item
        << std::string(widest - DisplayWidth(finding.item) + 2, ' ') << finding.what
        << (finding.remedy.empty() ? "" : "; " + finding.remedy) << "\n";
  }
}

void PrintRows(const Findings& findings, const DoctorOptions& options, std::ostream& out) {
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"state", "item", "what", "remedy"});
  for (const Finding& finding : findings) {
    printer.Row({StateName(finding.state), finding.item, finding.what,
                 finding.remedy.empty() ? Value() : Value(finding.remedy)});
  }
  printer.End();
}

}  // namespace

int DoctorCommand(const DoctorOptions& options, const Clock& clock, std::ostream& out,
                  std::ostream& err) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = fs::absolute(options.db_path, error);
  Findings findings;
  const auto add = [&findings](Findings more) {
    for (Finding& finding : more) findings.push_back(std::move(finding));
  };
  add(CheckMachine(clock.Now()));
  add(CheckDisk(error ? "." : path.parent_path().string()));
  add(CheckPrograms(options.program_dir, options.version));
  add({CheckName(EnvironmentText("PATH"), options.program_dir),
       CheckPythonModule(options.program_dir)});
  add(CheckDatabase(options.db_path, clock.Now()));
  if (options.format == OutputFormat::kTable) {
    PrintLines(findings, out);
  } else {
    PrintRows(findings, options, out);
  }
  int problem_count = 0;
  int warning_count = 0;
  for (const Finding& finding : findings) {
    problem_count += finding.state == FindingState::kProblem ? 1 : 0;
    warning_count += finding.state == FindingState::kWarning ? 1 : 0;
  }
  err << problem_count << (problem_count == 1 ? " problem, " : " problems, ") << warning_count
      << (warning_count == 1 ? " warning\n" : " warnings\n");
  return problem_count == 0 ? 0 : 1;
}

}  // namespace tune
