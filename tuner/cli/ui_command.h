// `tune ui`: serves the page of a database, which shows its sweeps and changes nothing.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

namespace tune {

struct UiOptions {
  std::string db_path;
  std::string address = "127.0.0.1:8080";
  bool address_is_given = false;  // Else another port is taken where this one is in use.
  bool open = false;              // In the desktop's browser.
  // Holds the key, so that a program that asks again after a restart needs no other; made where it
  // is not there. "": a key of this start alone.
  std::string key_path;
};

// Until Ctrl-C. Returns the exit status: 0, or 1 or 2 with one line on `err`.
int UiCommand(const UiOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
