#include "tuner/cli/page_report_command.h"

#include <memory>

#include "core/posix/durable_file.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/complain.h"
#include "tuner/page/page_api.h"
#include "tuner/page/report_file.h"

namespace tune {
namespace {

Status Write(const PageReportOptions& options, std::ostream& out) {
  const RealClock clock;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<PageApi> api,
                        PageApi::Open(options.db_path, "report", PageRights::kLook, clock,
                                      PageApi::SlowAnswers::kAtOnce));
  TUNE_ASSIGN_OR_RETURN(const HtmlReport report, MakeHtmlReport(*api, options.name));
  const std::string part = options.html_path + ".part";
  TUNE_RETURN_IF_ERROR(WriteFileSynced(part, report.html).At("--html"));
  TUNE_RETURN_IF_ERROR(RenameSynced(part, options.html_path).At("--html"));
  out << options.html_path << ": " << report.trial_count << " trials, "
      << (report.html.size() + 1023) / 1024 << " KiB";
  if (report.detailed_count < report.trial_count) {
    out << "; the best " << report.detailed_count << " of them can be opened";
  }
  out << "\n";
  return OkStatus();
}

}  // namespace

int PageReportCommand(const PageReportOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Write(options, out);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
