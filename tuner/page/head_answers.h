// What a head tells of its queue and of its cluster, as answers of the page (page_api.h).
//
// Thread rule: any; each call asks the head, and waits for it.
#pragma once

#include <string>

#include "core/clock.h"
#include "tuner/http/http_message.h"

namespace tune {

// Others wait meanwhile: the page is served by one thread. A tuner answers between two steps.
inline constexpr Duration kActionPatience = Seconds(10);

bool HasHead(const std::string& db_path);

// {"is_told": false without a head that answers, "queue": [one for each open sweep]}
HttpAnswer AnswerQueue(const std::string& db_path, const Clock& clock);
// {"is_told": ..., "cluster": as tune cluster status --format json has it, or null: it has none}
HttpAnswer AnswerCluster(const std::string& db_path, const Clock& clock);

}  // namespace tune
