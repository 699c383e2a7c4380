// Databases are for their owner alone, whatever the umask: they hold what a sweep was told and what
// its trials reported.
//
// Thread rule: stateless.
#pragma once

#include <string>

namespace tune {

// Makes an empty file of mode 0600 where there is none, which SQLite then takes; its own files
// beside it get the same rights. Does nothing where there is a file, or none can be made: SQLite
// tells that better.
void MakePrivateFile(const std::string& path);

}  // namespace tune
