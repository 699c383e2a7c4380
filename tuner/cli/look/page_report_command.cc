#include "tuner/cli/look/page_report_command.h"

#include <filesystem>
#include <memory>

#include "core/counted.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/own_file.h"
#include "tuner/page/markdown_report.h"
#include "tuner/page/page_api.h"
#include "tuner/page/report_file.h"

namespace tune {
namespace {

Status WriteHtml(const PageReportOptions& options, std::ostream& out) {
  TUNE_RETURN_IF_ERROR(MayReplace(options.html_path, kHtmlBeginning).At("--html"));
  const RealClock clock;
  TUNE_ASSIGN_OR_RETURN(
      const std::unique_ptr<PageApi> api,
      PageApi::Open(options.db_path, "report", clock, PageApi::SlowAnswers::kAtOnce));
  TUNE_ASSIGN_OR_RETURN(const HtmlReport report, MakeHtmlReport(*api, options.name));
  TUNE_RETURN_IF_ERROR(ReplaceOwnFile(options.html_path, report.html, kHtmlBeginning).At("--html"));
  out << options.html_path << ": " << Counted(report.trial_count, "trial") << ", "
      << (report.html.size() + 1023) / 1024 << " KiB";
  if (report.detailed_count < report.trial_count) {
    out << "; the best " << report.detailed_count << " of them can be opened";
  }
  out << "\n";
  return OkStatus();
}

Status WriteMarkdown(const PageReportOptions& options, std::ostream& out) {
  TUNE_RETURN_IF_ERROR(MayReplace(options.markdown_path, kMarkdownBeginning).At("--md"));
  const RealClock clock;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database, options.name));
  const std::filesystem::path path = options.markdown_path;
  TUNE_ASSIGN_OR_RETURN(const MarkdownReport report,
                        MakeMarkdownReport(*database, sweep, path.stem().string(), clock));
  std::string said = options.markdown_path + ":";
  for (const auto& [file, svg] : report.pictures) {
    const std::string picture = (path.parent_path() / file).string();
    TUNE_RETURN_IF_ERROR(ReplaceOwnFile(picture, svg, kSvgBeginning).At("--md"));
    said += (file == report.pictures.front().first ? " with " : ", ") + picture;
  }
  // Last: what it links to is there.
  TUNE_RETURN_IF_ERROR(
      ReplaceOwnFile(options.markdown_path, report.markdown, kMarkdownBeginning).At("--md"));
  out << said << (report.pictures.empty() ? " without pictures\n" : "\n");
  return OkStatus();
}

Status Write(const PageReportOptions& options, std::ostream& out) {
  if (!options.html_path.empty()) TUNE_RETURN_IF_ERROR(WriteHtml(options, out));
  if (!options.markdown_path.empty()) TUNE_RETURN_IF_ERROR(WriteMarkdown(options, out));
  return OkStatus();
}

}  // namespace

int PageReportCommand(const PageReportOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Write(options, out);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
