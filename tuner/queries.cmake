# The commands that only look, and the live table.
tune_library(tune_queries
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cli/best_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/list_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/live_view.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/results_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/status_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/sweep_lookup.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/text_table.cc
  DEPS tune_core tune_sqlite)
