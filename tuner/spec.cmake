# What a bad end leads to.
tune_library(tune_failure_policy SOURCES alike_failures.cc failure_policy.cc DEPS tune_core)

# What a spec asks its searcher for.
tune_library(tune_search_problem SOURCES metric_scores.cc result_limits.cc search_problem.cc DEPS tune_core tune_search tune_schedulers tune_failure_policy)

# What a space file says.
find_package(yaml-cpp REQUIRED)
tune_library(tune_spec
  SOURCES
    earlier_sweep.cc
    experiment_spec.cc
    json_schema.cc
    retrain.cc
    spec_bounds.cc
    spec_difference.cc
    spec_parts.cc
    spec_reader.cc
    spec_schema.cc
    spec_section.cc
    yaml_reader.cc
  DEPS tune_core tune_s3_address tune_search_problem tune_search tune_schedulers tune_placement tune_trainables tune_failure_policy)
target_link_libraries(tune_spec PRIVATE yaml-cpp)

# The scheduler alone and the searcher alone, as JSON lines.
tune_library(tune_json_lines
  SOURCES
    ask_tell.cc
    decide.cc
    json_lines.cc
  DEPS tune_core tune_search_problem tune_search tune_schedulers)
