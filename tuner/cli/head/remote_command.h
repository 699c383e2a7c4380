// Commands that are run where a head is, for who asks from elsewhere (`--head`): which may be, and
// asking for one.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/cli/head/job_commands.h"
#include "tuner/http/http_client.h"

namespace tune {

// What is wrong, of an answer that has another status than 200.
Status ErrorOfReply(const HttpReply& reply);

// Whether a command only tells, or changes something.
enum class RemoteKind { kTells, kActs };

// `arguments`: the command's name first. kInvalidArgument: it is none of those, or has an option
// that reads or writes files, which would be the head's.
Result<RemoteKind> CheckRemoteCommand(const std::vector<std::string>& arguments);

// Whether it goes on until something has ended.
bool MayTakeLong(const std::vector<std::string>& arguments);

// Whether a command that is no remote one has nothing to do with databases: it stays what it is
// where TUNE_HEAD is set.
bool NeedsNoDatabase(std::string_view command);

// Runs it there and prints what it prints; returns its exit status. Where one that follows a log or
// waits loses its connection, it is asked for again, until `wait` is false (130), and what was
// printed is not printed twice.
// `was_there`: the head has just answered, so that it will come back.
int RunRemoteCommand(const HttpPlace& head, const std::vector<std::string>& arguments, int width,
                     const WaitFunction& wait, std::ostream& out, std::ostream& err,
                     bool was_there = false);

}  // namespace tune
