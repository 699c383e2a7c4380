#include "tuner/cli/look/plot_command.h"

#include <memory>
#include <optional>

#include "core/nearest_name.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/own_file.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/page/chart_svg.h"
#include "tuner/page/sweep_charts.h"

namespace tune {
namespace {

struct Asked {
  std::string sweep;
  ChartKind kind = ChartKind::kCurves;
  std::string parameter;
};

// A sweep may be named like a chart: what stands before a chart's name is a sweep.
Result<Asked> Read(const std::vector<std::string>& words) {
  const bool has_sweep = words.size() > 1 && FindChartKind(words[1]).has_value();
  const size_t at = has_sweep ? 1 : 0;
  Asked asked;
  if (has_sweep) asked.sweep = words[0];
  const std::optional<ChartKind> kind = FindChartKind(words[at]);
  if (!kind) {
    constexpr std::string_view kKnown[] = {"curves", "best", "parallel", "importance", "slice"};
    const std::string& said = words.size() > 1 ? words[1] : words[0];
    return InvalidArgument("plot: read '" + Printable(said) + "', expected a chart" +
                           DidYouMean(said, kKnown));
  }
  asked.kind = *kind;
  const size_t wanted = asked.kind == ChartKind::kSlice ? 1 : 0;
  const size_t rest = words.size() - at - 1;
  if (rest < wanted) return InvalidArgument("plot slice: expected a parameter: tune plot slice lr");
  if (rest > wanted) {
    return InvalidArgument("plot: read '" + Printable(words.back()) +
                           "', expected nothing behind the chart" +
                           (wanted == 1 ? "'s parameter" : ""));
  }
  if (wanted == 1) asked.parameter = words[at + 1];
  return asked;
}

Status Plot(const PlotOptions& options, std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const Asked asked, Read(options.words));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database, asked.sweep));
  TUNE_ASSIGN_OR_RETURN(const Chart chart,
                        MakeChart(*database, sweep, asked.kind, asked.parameter));
  if (options.svg_path.empty()) {
    for (const std::string& line : RenderText(chart, options.form)) out << line << "\n";
    return OkStatus();
  }
  TUNE_RETURN_IF_ERROR(
      ReplaceOwnFile(options.svg_path, RenderSvg(chart), kSvgBeginning).At("--svg"));
  out << options.svg_path << ": " << Printable(chart.title) << "\n";
  return OkStatus();
}

}  // namespace

int PlotCommand(const PlotOptions& options, std::ostream& out, std::ostream& err) {
  const Status status = Plot(options, out);
  return status.ok() ? 0 : Complain(status, err);
}

}  // namespace tune
