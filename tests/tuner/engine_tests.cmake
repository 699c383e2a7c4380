# Workers from engines.
tune_test(cluster_file_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/cluster_file_test.cc DEPS tune_cluster_file)
tune_test(cluster_change_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/cluster_change_test.cc DEPS tune_cluster_file)
tune_test(workers_wanted_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/workers_wanted_test.cc DEPS tune_pool_book)
tune_test(pool_book_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/pool_book_test.cc DEPS tune_pool_book)
tune_test(engines_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/engines_test.cc DEPS tune_engines)
add_dependencies(engines_test tune tune_worker tune_trial tune_trial_command)
tune_test(kube_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/engines/kube_test.cc DEPS tune_engines)
