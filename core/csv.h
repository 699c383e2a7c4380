// Fields of CSV (RFC 4180; our lines of them end with LF, as shells expect) from values.
//
// Thread rule: pure functions.
#pragma once

#include <string>

#include "core/value.h"

namespace tune {

// A number in full: it reads back to the same bits.
std::string FullNumber(const Value& number);

// Null is an empty field, a list or map its JSON; quoted where it must be.
void AppendCsvField(const Value& value, std::string& out);

}  // namespace tune
