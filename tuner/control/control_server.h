// The tuner's end of the control socket: requests come in on a thread of its own, are taken by the
// tuner's thread, and answered from there after the commit that holds them. One request a
// connection. Whoever is silent, too long, wrong or goes away is dropped and harms nobody.
//
// Thread rule: Start, Take, Answer and the destructor belong to the tuner's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/control/control_request.h"

namespace tune {

inline constexpr size_t kControlClientsMax = 32;  // At a time; others wait until one is served.
inline constexpr Duration kControlReadPatience = Milliseconds(5'000);  // For a whole request.

class ControlServer {
 public:
  struct Arrival {
    int64_t client = 0;
    ControlRequest request;
  };

  // Listens at `folder`/control.sock, for this user alone (mode 0600); the folder is made if it is
  // not there. Only the holder of the writer's lock may do that: a socket that a killed tuner left
  // is replaced. One on which somebody listens is an error. `wake` is called on the server's thread
  // when Take has something new.
  static Result<std::unique_ptr<ControlServer>> Start(const std::string& folder, const Clock& clock,
                                                      std::function<void()> wake);
  // Tells those who wait for an answer that the sweep has ended; removes the socket, and the folder
  // if nothing else is in it.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // What came since the last call, in order of arrival.
  std::vector<Arrival> Take();
  // Once for each arrival.
  void Answer(int64_t client, const ControlAnswer& answer);

 private:
  class Connections;
  explicit ControlServer(std::unique_ptr<Connections> connections);

  std::unique_ptr<Connections> connections_;
};

}  // namespace tune
