// `tune ui`: serves the page of a database, which shows its sweeps, and acts on them where that is
// asked for.
//
// Thread rule: one thread.
#pragma once

#include <ostream>
#include <string>

#include "tuner/cli/head/submit_again.h"
#include "tuner/cli/look/page_place.h"

namespace tune {

struct UiOptions {
  std::string db_path;
  std::string program_dir;  // Of this program.
  PagePlace place;    // Without an address another port is taken where the usual one is in use.
  bool act = false;   // Sweeps can be paused, stopped and set by it.
  bool open = false;  // In the desktop's browser.
  // Holds the key, so that a program that asks again after a restart needs no other; made where it
  // is not there. "": a key of this start alone.
  std::string key_path;
  bool is_terminal = false;  // A person reads what it prints.
  SubmitsAgain again;        // On a head's database; may be none.
};

// Until Ctrl-C. Returns the exit status: 0, or 1 or 2 with one line on `err`.
int UiCommand(const UiOptions& options, std::ostream& out, std::ostream& err);

}  // namespace tune
