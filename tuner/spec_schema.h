// A space file as JSON Schema (draft 7), for editors: which keys there are, what they may be, a
// sentence for each. The keys, domains, algorithms and schedulers are the readers' own tables. It
// takes whatever the readers take; what it cannot say (names that must be known, ends of a domain,
// options of a scheduler), `tune run --dry-run` does.
//
// Thread rule: a pure function.
#pragma once

#include <string>

namespace tune {

std::string SpecSchema();

}  // namespace tune
