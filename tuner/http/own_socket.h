// A socket that stays with this process. Boost.Asio makes its sockets so that programs inherit
// them: a browser that the page starts would hold the page's port after its end.
//
// Thread rule: any thread.
#pragma once

#include <fcntl.h>

namespace tune {

inline void KeepFromPrograms(int socket) { (void)fcntl(socket, F_SETFD, FD_CLOEXEC); }

}  // namespace tune
