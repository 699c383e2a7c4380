// Domains as other tools write them, under `space` of a space file: {type: float, low: 0, high: 1}
// of Optuna and Ax, {min: 0, max: 1} or {values: [...]} of W&B, {_type: choice, _value: [...]} of
// NNI, "tune.uniform(0, 1)" of Ray, and a bare list. Taken as nested constants they would make a
// sweep in which nothing varies, so they are refused with our own form.
//
// Thread rule: pure.
#pragma once

#include "core/status.h"
#include "core/value.h"

namespace tune {

// The key of a map that looks like a domain with a mistyped name: one with a list, alone or with
// what may stand beside a domain (`when`, `guess`, `weights`). Null: there is none.
const MapEntry* MistypedDomain(const Value& map);

// `space`: the map of parameters. The error has the place, what was read and what to write.
Status RefuseForeignDomains(const Value& space);

}  // namespace tune
