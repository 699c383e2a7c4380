# The commands that only look, and the live table.
tune_library(tune_queries
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cli/attach_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/best_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/best_model.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/compare_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/importance_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/lane_speeds.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/list_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/live_screen.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/living_state.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/live_view.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/pareto_front.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/results_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/results_view.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/retrain_rows.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/status_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/stored_doubts.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/stored_snapshot.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/sweep_lookup.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/text_table.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/time_left.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/trial_history.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/trial_lookup.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/trial_table.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/why_command.cc
  DEPS tune_checkpoint_place tune_core tune_control tune_device_status tune_doubts tune_fusion tune_lane_speeds tune_repeated_runs tune_search_problem tune_sqlite tune_artifacts tune_search tune_spec tune_schedulers)
