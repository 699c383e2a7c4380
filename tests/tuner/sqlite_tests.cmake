# The store over SQLite and what looks at its databases.
tune_test(event_codec_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/event_codec_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sweep_event_codec_test.cc DEPS tune_events tune_core)
tune_test(sweep_labels_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/sweep_labels_test.cc DEPS tune_sweep_labels)
tune_test(sqlite_store_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/database_company_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/database_files_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/database_views_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/file_watch_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/sqlite_store_test.cc
  DEPS tune_sqlite)
tune_test(query_commands_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/best_command_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/compare_command_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/results_command_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/text_table_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/status_command_test.cc
  DEPS tune_queries)
tune_test(limited_sweep_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/limited_sweep_test.cc
  DEPS tune_queries tune_export_command tune_page tune_core_posix)
tune_test(head_retention_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/head_retention_test.cc DEPS tune_queries)
tune_test(importance_command_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/importance_command_test.cc DEPS tune_queries)
tune_test(live_view_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/live_table_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/live_view_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/time_left_test.cc
  DEPS tune_queries)
tune_test(recovery_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/earlier_sweep_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/recovery_test.cc
  DEPS tune_controller tune_spec tune_sqlite)
tune_test(trial_counts_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/trial_counts_test.cc DEPS tune_queries)
