// Which sweep of a head is given the next free place, and why the others wait: what `tune queue`
// shows.
//
// Thread rule: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/time.h"

namespace tune {

class Controller;

// Lines of JSON, one for each open sweep, those that want more first, by whose turn it is: {"turn":
// 1, "sweep": "food11", "owner": "ada", "priority": 0, "weight": 100, "reserve": {"cpus": 8,
// "gpus": 0}, "running": 2, "cpus": 4, "gpus": 0.5, "waits_us": 1500000, "has_claim": false, "why":
// "there is no room now: ..."}. One that wants no more has no turn: null. `pools`: what pools of
// workers do about sweeps, by their names; a sweep about which they do nothing is not in it.
std::vector<std::string> EncodeQueue(const Controller& controller, Instant now,
                                     const std::map<std::string, std::string>& pools);

// Lines of JSON, which open sweeps are paused, and which of the others have a trial that waits, and
// why: {"is_paused": true, "why": "", "sweeps": [3, 4]}, {"is_paused": false, "why": "there is no
// room now: ...", "sweeps": [7]}. Sweeps are named by their ids, as one reason often is that of
// thousands; the one of a tuner that is no head by its name. Those that are paused come first.
std::vector<std::string> EncodeStates(const Controller& controller);

}  // namespace tune
