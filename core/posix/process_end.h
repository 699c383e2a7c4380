// Whether a process of this machine still lives.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

// It is gone, has ended and nobody has waited for it yet, or was killed and is being taken down,
// which takes a while with much memory: it runs no more of its own code, and what it holds is about
// to be free.
bool IsEnding(int64_t pid);

// Where process numbers count: each container may have its own. Empty: the kernel does not say.
std::string ProcessNumbers();

}  // namespace tune
