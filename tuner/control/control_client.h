// A command's end of the control socket.
//
// Thread rule: one thread.
#pragma once

#include <functional>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/control/control_request.h"

namespace tune {

// Asks the tuner that listens in `folder` (<db stem>.artifacts), for whom this thread asks
// (asker.h), and waits for its answer. Its refusal is the answer's status; an error here means that
// there was no answer: kNotFound, nobody listens there and nothing was asked; kUnavailable, it was
// asked, and went away or was silent for `patience`: only the database knows whether it was done.
// `is_late` is called once when there is no answer after three seconds, and then the wait goes on.
Result<ControlAnswer> AskTuner(const std::string& folder, const ControlRequest& request,
                               const Clock& clock, Duration patience,
                               const std::function<void()>& is_late = {});

}  // namespace tune
