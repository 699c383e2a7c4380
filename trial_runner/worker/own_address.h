// The address of this machine that others reach it at, as a number ("10.0.0.7").
//
// Thread rule: any thread. Nothing is sent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"

namespace tune {

// Of the interface by which packets to `host` (a name or a number) leave. "127.0.0.1" where there
// is none, or `host` cannot be found.
std::string OwnAddress(const std::string& host);

// Of the interface that leads to the rest of the world.
std::string OwnAddress();

// The interface ("eth0") that has this address; empty: none has.
std::string InterfaceOf(const std::string& address);

// A port that a program of ours is to listen on, at any address of this machine, as long as the
// claim lives. kFailedPrecondition: one listens there, or another worker has claimed it;
// kUnavailable: the system gives no socket. Messages go on behind the port: "is in use, by ...". A
// claim is known to the workers of a network namespace, by an abstract socket of the port's name,
// and to nobody else.
Result<std::shared_ptr<const void>> ClaimPort(int64_t port);

}  // namespace tune
