#include "tuner/page/page_action.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/json.h"
#include "tuner/cli/words/setting_text.h"

namespace tune {
namespace {

constexpr ControlVerb kActions[] = {ControlVerb::kPause,  ControlVerb::kUnpause, ControlVerb::kStop,
                                    ControlVerb::kSet,    ControlVerb::kDrain,   ControlVerb::kNote,
                                    ControlVerb::kResume, ControlVerb::kDelete};
constexpr char kExpected[] =
    "expected one of pause, unpause, stop, set, drain, note, resume, delete and again, such as "
    "{\"stop\": "
    "{\"trial\": 3}}";

}  // namespace

Result<ControlRequest> ReadAction(std::string_view body, std::string_view sweep) {
  Result<Value> action = ParseJson(body);
  if (!action.ok()) return action.status().At("the body");
  if (!action->is_map() || action->AsMap().size() != 1) {
    return InvalidArgument("the body: " + std::string(kExpected));
  }
  // The rest is read as the tuner itself will read it; which process that is comes later.
  action->Set("tuner", 1);
  action->Set("sweep", std::string(sweep));
  TUNE_ASSIGN_OR_RETURN(ControlRequest request, DecodeRequest(ToJson(*action)));
  if (std::find(std::begin(kActions), std::end(kActions), request.verb) == std::end(kActions)) {
    return InvalidArgument(std::string(ControlVerbName(request.verb)) + ": " + kExpected);
  }
  for (std::string& setting : request.settings) {
    TUNE_ASSIGN_OR_RETURN(setting, FullSetting(setting));
  }
  return request;
}

HttpAnswer ActionAnswer(const ControlAnswer& answer) {
  HttpAnswer told;
  told.status = HttpStatusOf(answer.status.code());
  told.content_type = "application/json";
  told.body = EncodeAnswer(answer);
  told.headers = {{"Cache-Control", "no-store"}};
  return told;
}

}  // namespace tune
