// What our programs do about the limits that a process is given. The soft limit of descriptors is
// low for the sake of programs that use select(2); ours do not. A write beyond the limit of a
// file's size (ulimit -f) ends a process without a word; ours shall get an error (EFBIG), and tell
// it. Where the parent ignores the ends of its children (SIGCHLD), we would inherit that, and could
// not wait for ours; they are waited for. Where no memory or no thread is left for it (ulimit -v,
// -u), a process ends with a line and status 1: what it has acknowledged is stored.
//
// Thread rule: MeetLimits once, before other threads start.
#pragma once

#include <cstdint>

namespace tune {

// The first thing that our programs do.
void MeetLimits();

// Takes that back, in a child that is about to become a user's program: system calls alone.
void RestoreLimits();

// The present soft limit.
int64_t DescriptorLimit();

}  // namespace tune
