# Sweeps in the forms of other tools; read back by programs of their own in Python, where there is one.
tune_test(export_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/export/event_records_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/export/export_command_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/export/optuna_study_test.cc
    ${CMAKE_CURRENT_LIST_DIR}/export/tensorboard_log_test.cc
  DEPS tune_export_command tune_spec)
tune_test(export_optuna_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/export/optuna_test.cc
  DEPS tune_export_command
  LABELS peer)
