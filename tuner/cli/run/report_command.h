// `tune report`: a trial in any language says how it is doing.
//
//   tune report val_accuracy=0.91 val_loss=0.3 [--iteration N] [--checkpoint PATH]
//
// Thread rule: one thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace tune {

inline constexpr int kExitToldToStop = 10;

// `tune report [NAME] --html FILE` and --md FILE tell of a sweep (page_report_command.h).
bool AsksForPageReport(const std::vector<std::string>& arguments);

// `arguments`: what stands behind `report`. `socket`: TUNE_SOCKET; empty outside a sweep, where the
// report is only printed. Returns the exit status: 0 go on, 10 stop, 2 a wrong argument or a report
// that was not taken, 1 the tuner is gone.
int ReportCommand(const std::vector<std::string>& arguments, const std::string& socket,
                  std::ostream& out, std::ostream& err);

}  // namespace tune
