# Sweeps in virtual time.
tune_test(curve_table_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/curve_table_test.cc DEPS tune_simulate)
tune_test(virtual_sweep_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/virtual_sweep_test.cc DEPS tune_simulate)
tune_test(simulate_command_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/simulate_command_test.cc DEPS tune_simulate_command)
tune_test(configuration_check_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/configuration_check_test.cc DEPS tune_simulate_command)
target_compile_definitions(configuration_check_test PRIVATE
  TUNE_INIT_MEASURES="${PROJECT_SOURCE_DIR}/python/tune_init/measures.py")
tune_test(sweep_plan_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/sweep_plan_test.cc DEPS tune_simulate_command)
tune_test(retrain_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/retrain_test.cc DEPS tune_queries tune_controller tune_spec)
