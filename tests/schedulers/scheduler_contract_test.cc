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
                      true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tune
