// The number of what a head and its clients (`tune --head`) say to each other over HTTP. Each side
// sends it with every request and answer, in the header Tune-Protocol, and refuses another one's:
// which of the two is older, and what to do, is told in one line. A request without the header is a
// browser's or another program's, and is answered.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

// Counted up where an older client, or an older head, would misunderstand the other side.
inline constexpr int kClientProtocol = 1;
inline constexpr char kProtocolHeader[] = "Tune-Protocol";

// `said`: the header's text, "" where there is none. kFailedPrecondition: the other side is older
// or newer.
Status CheckClient(std::string_view said);  // By a head, of who asks.
Status CheckHead(std::string_view said);    // By a client, of who answers.

}  // namespace tune
