// A sweep as one file that needs no server: the page with its data inside.
//
// Thread rule: one thread.
#pragma once

#include <string>

#include "core/status.h"
#include "tuner/page/page_api.h"

namespace tune {

struct HtmlReport {
  std::string html;
  int64_t trial_count = 0;
  int64_t detailed_count = 0;  // Those that can be opened; the best ones where not all fit.
};

// `name`: of the sweep; the latest for "".
Result<HtmlReport> MakeHtmlReport(PageApi& api, const std::string& name);

}  // namespace tune
