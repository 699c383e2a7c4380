#include "tuner/page/report_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/standing.h"
#include "core/utf8.h"
#include "core/value.h"
#include "tuner/http/gzip.h"
#include "tuner/http/page_files.h"

namespace tune {
namespace {

// Before packing, which makes about an eighth of it.
constexpr size_t kDetailBytesMax = 24 << 20;
constexpr size_t kOtherMetricsMax = 8;

std::string Base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) out += j <= count ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

// As JavaScript's encodeURIComponent.
std::string Encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-_.!~*'()";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || kPlain.find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    out += is_plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// A script's text between its tags: what would end it, or begin a comment, is written in another
// way that means the same within JavaScript's strings and expressions.
std::string InScript(std::string_view code) {
  std::string text(code);
  ReplaceAll(text, "</script", "<\\/script");
  ReplaceAll(text, "<!--", "<\\!--");
  return text;
}

// Puts `text` in place of the tag that begins with `tag` and names `attribute`="...": the file that
// it names is found in the program.
void Inline(std::string& html, std::string_view tag, std::string_view attribute,
            std::string_view end, std::string (*wrapped)(std::string_view)) {
  for (size_t at = html.find(tag); at != std::string::npos; at = html.find(tag, at + 1)) {
    const size_t tag_end = html.find(end, at);
    const size_t name_at = html.find(std::string(attribute) + "=\"", at);
    if (tag_end == std::string::npos || name_at > tag_end) continue;
    const size_t begin = name_at + attribute.size() + 2;
    const PageFile* const file =
        FindPageFile(std::string_view(html).substr(begin, html.find('"', begin) - begin));
    if (file == nullptr) continue;
    html.replace(at, tag_end + end.size() - at, wrapped(file->data));
  }
}

// Asks the API as the page would; the answers by address, as one JSON object.
class Answers {
 public:
  explicit Answers(PageApi& api) : api_(api) {}

  Result<std::string> Ask(const std::string& path, const std::string& query_name = "",
                          const std::string& query = "") {
    HttpRequest request;
    request.method = "GET";
    request.path = "/api/v1" + path;
    if (!query_name.empty()) request.query[query_name] = query;
    HttpAnswer answer = api_.Answer(request, PageRights::kLook);
    if (answer.status == 200) return std::move(answer.body);
    const Result<Value> error = ParseJson(answer.body);
    const Value* const text = error.ok() && error->is_map() ? error->Find("error") : nullptr;
    const std::string told = text != nullptr && text->is_string() ? text->AsString() : answer.body;
    return answer.status == 404 ? NotFound(told) : Internal(told);
  }

  void Keep(const std::string& address, const std::string& json) {
    all_ += all_.empty() ? "{" : ",";
    AppendJsonString(address, all_);
    all_ += ':' + json;
  }

  std::string Packed() const { return Gzip(all_ + "}"); }

 private:
  PageApi& api_;
  std::string all_;
};

// The numbers of the trials, the best first; those without a value and those that failed at the
// end.
std::vector<int64_t> BestFirst(const Value& trials, Mode mode) {
  struct Ranked {
    int64_t number = 0;
    Metric value;  // Nothing, too, where it failed.
    Metric violation;
  };
  std::vector<Ranked> ranked;
  const Value::List& columns = trials.Find("columns")->AsList();
  const auto place_of = [&](const char* name) {
    const auto found = std::find(columns.begin(), columns.end(), Value(name));
    return static_cast<size_t>(found - columns.begin());
  };
  const size_t number = place_of("number");
  const size_t status = place_of("status");
  const size_t best = place_of("best_value");
  const size_t violation = place_of("violation");
  for (const Value& row : trials.Find("rows")->AsList()) {
    const Value::List& cells = row.AsList();
    const bool has_failed = cells[status] == Value("ERROR");
    ranked.push_back({cells[number].AsInt(), has_failed ? Metric() : ReadNumber(cells[best]),
                      ReadNumber(cells[violation])});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [mode](const Ranked& a, const Ranked& b) {
    if (!a.value || !b.value) return a.value.has_value() && !b.value.has_value();
    return IsBetterStanding(*a.value, a.violation, *b.value, b.violation, mode);
  });
  std::vector<int64_t> numbers;
  for (const Ranked& one : ranked) numbers.push_back(one.number);
  return numbers;
}

// The name of the database's latest sweep.
Result<std::string> LatestSweep(Answers& answers) {
  TUNE_ASSIGN_OR_RETURN(const std::string sweeps_json, answers.Ask("/sweeps"));
  TUNE_ASSIGN_OR_RETURN(const Value sweeps, ParseJson(sweeps_json));
  if (sweeps.AsList().empty()) return NotFound("this database has no sweep yet");
  return sweeps.AsList().front().Find("name")->AsString();
}

// Where a sweep's answers are asked for, and where the page looks for them.
struct Addresses {
  std::string asked, kept;
};

Status KeepRanges(const Addresses& of, const std::string& metric, Answers& answers) {
  TUNE_ASSIGN_OR_RETURN(const std::string ranges,
                        answers.Ask(of.asked + "/ranges", "metric", metric));
  answers.Keep(of.kept + "/ranges?metric=" + Encoded(metric), ranges);
  return OkStatus();
}

// Of all objectives, which the page always shows, and of some other metrics.
Status KeepOtherMetrics(const Addresses& of, const std::string& names_json, const Value& sweep,
                        Answers& answers) {
  TUNE_ASSIGN_OR_RETURN(const Value names, ParseJson(names_json));
  const Value::List& objectives = sweep.Find("metrics")->AsList();
  size_t count = 0;
  for (const Value& other : names.AsList()) {
    if (other == *sweep.Find("metric")) continue;
    const bool is_objective =
        std::find(objectives.begin(), objectives.end(), other) != objectives.end();
    if (!is_objective && ++count > kOtherMetricsMax) continue;
    TUNE_RETURN_IF_ERROR(KeepRanges(of, other.AsString(), answers));
    TUNE_ASSIGN_OR_RETURN(const std::string curves,
                          answers.Ask(of.asked + "/curves", "metric", other.AsString()));
    answers.Keep(of.kept + "/curves?metric=" + Encoded(other.AsString()), curves);
  }
  return OkStatus();
}

// What the page shows of a sweep but for its trials.
Status KeepSweep(const Addresses& of, const Value& sweep, Answers& answers) {
  std::string course;
  do {
    TUNE_ASSIGN_OR_RETURN(course, answers.Ask(of.asked + "/course"));
  } while (course.find("\"is_behind\":true") != std::string::npos);
  answers.Keep(of.kept + "/course", course);
  TUNE_RETURN_IF_ERROR(KeepRanges(of, sweep.Find("metric")->AsString(), answers));
  const bool is_multi = sweep.Find("metrics")->AsList().size() > 1;
  for (const std::string_view part :
       {"/curves", "/metrics", "/importance", "/compared", "/timeline", "/workers", "/front"}) {
    if (part == "/front" && !is_multi) continue;
    TUNE_ASSIGN_OR_RETURN(const std::string json, answers.Ask(of.asked + std::string(part)));
    answers.Keep(of.kept + std::string(part), json);
    if (part != "/metrics") continue;
    TUNE_RETURN_IF_ERROR(KeepOtherMetrics(of, json, sweep, answers));
  }
  return OkStatus();
}

// The best ones' details, as far as there is room.
Status KeepTrials(const Addresses& of, const Value& sweep, Answers& answers, HtmlReport& report) {
  TUNE_ASSIGN_OR_RETURN(const std::string trials_json, answers.Ask(of.asked + "/trials"));
  answers.Keep(of.kept + "/trials", trials_json);
  TUNE_ASSIGN_OR_RETURN(const Value trials, ParseJson(trials_json));
  const Mode mode = sweep.Find("mode")->AsString() == "max" ? Mode::kMax : Mode::kMin;
  size_t detail_bytes = 0;
  for (const int64_t number : BestFirst(trials, mode)) {
    ++report.trial_count;
    if (detail_bytes > kDetailBytesMax) continue;
    const std::string part = "/trials/" + std::to_string(number);
    TUNE_ASSIGN_OR_RETURN(const std::string json, answers.Ask(of.asked + part));
    answers.Keep(of.kept + part, json);
    detail_bytes += json.size();
    ++report.detailed_count;
  }
  return OkStatus();
}

Result<std::string> PageWith(const std::string& packed) {
  const PageFile* const page = FindPageFile("/");
  if (page == nullptr) return Internal("the program was built without its page");
  std::string html(page->data);
  Inline(html, "<link rel=\"stylesheet\"", "href", ">",
         [](std::string_view style) { return "<style>" + std::string(style) + "</style>"; });
  // Nothing is loaded from anywhere, whatever a trial is named.
  constexpr std::string_view kHead = "<head>";
  html.insert(html.find(kHead) + kHead.size(),
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">");
  html.insert(html.find("<div id=\"app\">"),
              "<script type=\"text/plain\" id=\"report\">" + Base64(packed) + "</script>");
  Inline(html, "<script type=\"module\"", "src", "</script>", [](std::string_view code) {
    return "<script type=\"module\">" + InScript(code) + "</script>";
  });
  return html;
}

}  // namespace

Result<HtmlReport> MakeHtmlReport(PageApi& api, const std::string& name) {
  // What stands behind it would be another address.
  if (name.find('/') != std::string::npos) {
    return NotFound("no sweep is named '" + ToUtf8(name) + "'");
  }
  Answers answers(api);
  std::string wanted = name;
  if (wanted.empty()) {
    TUNE_ASSIGN_OR_RETURN(wanted, LatestSweep(answers));
  }
  TUNE_ASSIGN_OR_RETURN(const std::string sweep_json, answers.Ask("/sweeps/" + wanted));
  TUNE_ASSIGN_OR_RETURN(const Value sweep, ParseJson(sweep_json));
  const std::string found = sweep.Find("name")->AsString();
  const Addresses of = {"/sweeps/" + found, "/sweeps/" + Encoded(found)};
  answers.Keep("/sweeps", "[" + sweep_json + "]");
  answers.Keep(of.kept, sweep_json);
  HtmlReport report;
  TUNE_RETURN_IF_ERROR(KeepTrials(of, sweep, answers, report));
  TUNE_RETURN_IF_ERROR(KeepSweep(of, sweep, answers));
  TUNE_ASSIGN_OR_RETURN(report.html, PageWith(answers.Packed()));
  return report;
}

}  // namespace tune
