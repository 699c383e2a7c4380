// All that a program has started, however deep, also what has left its group or session: processes
// whose parents are gone become children of this process (PR_SET_CHILD_SUBREAPER), so each is below
// it.
//
// Thread rule: one thread. Without `spared`, in a program that starts no other children.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tune {

// Once, before anything is started. False: this system cannot; what leaves its parent is not found.
bool AdoptOrphans();

// Those below this process that live; parents before children. Without those children, and what is
// below them, that are `spared`.
std::vector<pid_t> Descendants(const std::set<pid_t>& spared = {});

// The nearest of `candidates` that the process is, or is below; nothing: it is elsewhere, or gone.
std::optional<pid_t> NearestAbove(pid_t pid, const std::set<pid_t>& candidates);

// The parent of a process; 0: it is not in our PID namespace. Nothing: the process has ended.
std::optional<pid_t> LivingParentOf(pid_t pid);

// Its command line, with spaces between the words; empty: it is gone.
std::string CommandLineOf(pid_t pid);

// Sends the signal to each of them once.
void SignalDescendants(int signal);

// SIGKILL to all of them, also to those that are started meanwhile, until none is left, and takes
// leave of them. Gives up after a while on what cannot die (waiting for a disk); false then.
bool EndDescendants(const std::set<pid_t>& spared = {});

// One round of that, without waiting: true: none was left; false: those that there were have been
// sent SIGKILL, and another round will find which of them live.
bool EndDescendantsOnce(const std::set<pid_t>& spared = {});

// Takes leave of those that have ended; the wait status of `pid`, if it is among them.
std::optional<int> ReapEnded(pid_t pid);

}  // namespace tune
