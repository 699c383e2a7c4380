// How bad input by a person is told: the place, what was read, what was expected.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "core/value.h"

namespace tune {

// The place of a value that came from the n-th `--set` (from 1): it has no line. It is told as
// "--set n".
inline Place OverridePlace(int n) { return Place{-n, 0}; }

// "3:12: ", "--set 2: ", or nothing where there is no place.
std::string PlacePrefix(const Place& place);

// InvalidArgument with the place's prefix.
Status InvalidAt(const Place& place, std::string_view message);

// The same failure with the file before its place: "space.yaml:3:12: ...", "space.yaml: ..." where
// it has none. One that came from a `--set` stays as it is: no file is to blame.
Status InFile(std::string_view file, const Status& status);

// What was read, for a message: "'abc'", "0.5", "true", "null", "a list", "a map". Long strings are
// cut.
std::string Shown(const Value& value);

}  // namespace tune
