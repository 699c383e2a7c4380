// Every scheduler keeps the contract.
#include "tests/contract/scheduler_contract.h"

namespace tune {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Schedulers, SchedulerContract,
    testing::Values(
        SchedulerCase{"fifo", R"("fifo")"}, SchedulerCase{"default", "null"},
        SchedulerCase{"asha", R"({"asha": {"max_t": 20, "reduction_factor": 2}})"},
        SchedulerCase{"asha_min", R"({"asha": {"max_t": 16, "reduction_factor": 2}})", Mode::kMin},
        SchedulerCase{"asha_brackets",
                      R"({"asha": {"max_t": 27, "reduction_factor": 3, "brackets": 4}})"},
        SchedulerCase{"promote",
                      R"({"asha": {"variant": "promote", "max_t": 20, "reduction_factor": 2}})",
                      Mode::kMax, true},
        SchedulerCase{"promote_min",
                      R"({"asha": {"variant": "promote", "max_t": 27, "reduction_factor": 3}})",
                      Mode::kMin, true},
        SchedulerCase{"promote_brackets",
                      R"({"asha": {"variant": "promote", "max_t": 9, "reduction_factor": 3,
                                   "brackets": 3}})",
                      Mode::kMax, true},
        SchedulerCase{"promote_few_paused",
                      R"({"asha": {"variant": "promote", "max_t": 20, "reduction_factor": 2,
                                   "paused_max": 3}})",
                      Mode::kMax, true},
        SchedulerCase{"hyperband", R"({"hyperband": {"max_t": 9, "reduction_factor": 3}})"},
        SchedulerCase{"hyperband_min", R"({"hyperband": {"max_t": 20, "reduction_factor": 2}})",
                      Mode::kMin},
        SchedulerCase{"hyperband_async", R"({"hyperband": {"max_t": 27, "variant": "async"}})"},
        SchedulerCase{"hyperband_async_promote",
                      R"({"hyperband": {"max_t": 27, "variant": "async_promote"}})", Mode::kMax,
                      true},
        SchedulerCase{"median_stopping", R"("median_stopping")"},
        SchedulerCase{"median_stopping_soft",
                      R"({"median_stopping": {"grace_period": 2, "min_samples_required": 1,
                                              "hard_stop": false}})",
                      Mode::kMin},
        SchedulerCase{"percentile", R"({"percentile": {"percentile": 25, "n_startup_trials": 2}})"},
        SchedulerCase{"percentile_min",
                      R"({"percentile": {"percentile": 50, "n_warmup_steps": 3,
                                         "interval_steps": 2}})",
                      Mode::kMin},
        SchedulerCase{"patience", R"({"patience": {"patience": 3}})"},
        SchedulerCase{"threshold", R"({"threshold": {"lower": 0.1, "upper": 2}})"},
        SchedulerCase{"combine",
                      R"({"combine": [{"threshold": {"upper": 2}}, {"patience": {"patience": 8}},
                                      {"asha": {"max_t": 20, "reduction_factor": 2}}]})"},
        SchedulerCase{"combine_pausing",
                      R"({"combine": [{"patience": {"patience": 8}},
                                      {"hyperband": {"max_t": 9, "reduction_factor": 3}},
                                      "median_stopping"]})"},
        SchedulerCase{"combine_few_paused",
                      R"({"combine": [{"asha": {"variant": "promote", "paused_max": 2}},
                                      {"percentile": {"percentile": 50}}]})",
                      Mode::kMin, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tune
