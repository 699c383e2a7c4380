// What makes each version of the database of the one before it (schema.h).
//
// Thread rule: constants.
#pragma once

#include <span>

namespace tune {

// The first makes version 1; each sets user_version itself.
std::span<const char* const> Migrations();

}  // namespace tune
