// What an Xid, the driver's report of an error of a device, says of the device itself.
//
// Source: NVIDIA, "Xid Errors", the Xid catalog (docs.nvidia.com/deploy/xid-errors/), as of R590.
//
// Thread rule: pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace tune {

// In words, what has happened to a device that can run nothing more until it is reset, or its
// machine is: the catalog's immediate action is RESET_GPU or RESTART_BM, and it is not about links
// to other devices alone. Empty for all others: what a program did wrong or can be begun again
// after (13, 31, 43, 45, 69, 94, ...), and what the device has dealt with (63, 92, ...).
std::string_view FatalXid(uint64_t xid);

}  // namespace tune
