# Space files.
tune_test(spec_reader_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/spec_difference_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/spec_reader_test.cc ${CMAKE_CURRENT_LIST_DIR}/yaml_reader_test.cc
  DEPS tune_spec)

# The decision parts alone.
tune_test(json_lines_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/ask_tell_test.cc ${CMAKE_CURRENT_LIST_DIR}/decide_test.cc
  DEPS tune_json_lines)
tune_test(metric_scores_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/metric_scores_test.cc DEPS tune_search_problem)
tune_test(result_limits_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/result_limits_test.cc DEPS tune_search_problem)
tune_test(alike_failures_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/alike_failures_test.cc DEPS tune_failure_policy)
tune_test(import_command_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/import_command_test.cc DEPS tune_import_command tune_spec)
