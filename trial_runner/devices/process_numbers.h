// Whether the driver's process numbers mean the same processes here.
//
// Thread rule: any thread.
#pragma once

namespace tune {

// Not within a container that has process numbers of its own: the driver tells the machine's.
bool SeesAllProcesses();

}  // namespace tune
