// Whether a database is whole, before anybody writes to it or concludes anything from it.
//
// Thread rule: the caller's; connections are opened and closed within a call.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {

// Whether the file is small enough to be checked each time that it is opened.
bool IsCheckedQuickly(const std::string& path);

// kDataLoss: pages, of tables or of indexes, are not what they should be. Also while another
// program writes.
Status CheckPages(Database& database);

// Compares the database with what a killed tuner had committed, where that is known, and looks at
// its pages where that is asked for. kDataLoss: pages are damaged, or its WAL is missing, cut or
// damaged, so that nothing may be concluded from its rows. A database that is not there is whole.
Status CheckWhatIsThere(const std::string& path, bool looks_at_pages,
                        const std::optional<JournalEnd>& committed);

// kDataLoss: the journal ends before the step that the database's tuner, which lives or was killed,
// had committed last. Also while that one writes. OK where nothing is known of it.
Status CheckNothingIsMissing(Database& database);

// For a writer that opens no store: compares as above and settles the lock.
Status SettleLock(const std::string& path, WriterLock& lock);

}  // namespace tune
