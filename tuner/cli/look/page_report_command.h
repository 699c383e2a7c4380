// `tune report [NAME] --html FILE`: a sweep's page with its data inside, one file that opens from
// disk and can be sent. `tune report [NAME] --md FILE`: a summary in Markdown, its pictures in
// files beside it.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

namespace tune {

struct PageReportOptions {
  std::string db_path;
  std::string name;           // "": the latest sweep.
  std::string html_path;      // "": none.
  std::string markdown_path;  // "": none.
};

// Files that are there are replaced, each whole. Returns the exit status: 0; 1 or 2 with one line
// on `err`.
int PageReportCommand(const PageReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
