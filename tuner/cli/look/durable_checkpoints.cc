#include "tuner/cli/look/durable_checkpoints.h"

#include <algorithm>
#include <utility>

namespace tune {

Result<std::vector<TrialAhead>> ReadTrialsAhead(Database& database, int64_t sweep) {
  static constexpr char kSql[] =
      "SELECT number, iterations, durable FROM (SELECT t.number AS number,"
      " t.iterations AS iterations, (SELECT coalesce(max(c.iteration), 0) FROM checkpoint_rows AS c"
      " WHERE c.trial = t.id AND c.state = 'durable') AS durable"
      " FROM trials AS t JOIN experiments AS e ON e.id = t.experiment"
      " WHERE e.id = ?1 AND json_extract(e.spec, '$.checkpoint.async')"
      " AND t.status IN ('PENDING', 'RUNNING', 'PAUSED'))"
      " WHERE iterations > durable ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep);
  std::vector<TrialAhead> trials;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return trials;
    trials.push_back({row->Int(0), row->Int(1), row->Int(2)});
  }
}

std::string Describe(const std::vector<TrialAhead>& trials) {
  constexpr size_t kNamedMax = 4;
  std::string text;
  for (size_t i = 0; i < std::min(trials.size(), kNamedMax); ++i) {
    const TrialAhead& trial = trials[i];
    text += (i == 0 ? "trial " : ", trial ") + std::to_string(trial.number) +
            (trial.durable == 0 ? " none" : " up to iteration " + std::to_string(trial.durable)) +
            " of " + std::to_string(trial.iterations);
  }
  if (trials.size() > kNamedMax) {
    text += " and " + std::to_string(trials.size() - kNamedMax) + " more";
  }
  return text;
}

Value ToValue(const std::vector<TrialAhead>& trials) {
  Value list = Value::MakeList();
  for (const TrialAhead& trial : trials) {
    Value value = Value::MakeMap();
    value.Set("trial", trial.number);
    value.Set("iterations", trial.iterations);
    value.Set("durable", trial.durable);
    list.AsList().push_back(std::move(value));
  }
  return list;
}

}  // namespace tune
