// `tune report [NAME] --html FILE`: a sweep's page with its data inside, one file that opens from
// disk and can be sent.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

namespace tune {

struct PageReportOptions {
  std::string db_path;
  std::string name;  // "": the latest sweep.
  std::string html_path;
};

// A file that is there is replaced, whole. Returns the exit status: 0; 1 or 2 with one line on
// `err`.
int PageReportCommand(const PageReportOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
