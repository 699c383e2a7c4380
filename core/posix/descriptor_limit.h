// How many descriptors a process may have open. The soft limit is low for the sake of programs that
// use select(2); ours do not.
//
// Thread rule: RaiseDescriptorLimit once, before other threads start.
#pragma once

#include <cstdint>

namespace tune {

// Raises the soft limit to the hard one. The first thing that our programs do.
void RaiseDescriptorLimit();

// Takes that back, in a child that is about to become a user's program: system calls alone.
void RestoreDescriptorLimit();

// The present soft limit.
int64_t DescriptorLimit();

}  // namespace tune
