// What the page asks a living sweep to do: the request of the control socket (control_request.h)
// without its tuner and sweep, such as {"stop": {"trial": 3, "now": true}}.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/status.h"
#include "tuner/control/control_request.h"
#include "tuner/http/http_message.h"

namespace tune {

inline constexpr size_t kActionBytesMax = 64 * 1024;

// `sweep`: its name. Settings may be named as tune set takes them. kInvalidArgument says what is
// wrong: syntax, an unknown key, a verb that changes nothing.
Result<ControlRequest> ReadAction(std::string_view body, std::string_view sweep);

// The control socket's answer in its own words, with the HTTP status that fits.
HttpAnswer ActionAnswer(const ControlAnswer& answer);

}  // namespace tune
