# What `cmake --install` puts in place, relocatable, and the Debian packages made of it (scripts/package).
#
#   lib/tune/          the programs, which find each other beside themselves, and the Python module in python/
#   bin/               links to those that people call
#   share/man, share/bash-completion, share/zsh, share/fish, share/doc/tune
#   lib/systemd/system the unit of a machine that is always a worker, whose user lib/sysusers.d names
#   share/tune/        alerts for Prometheus, a board for Grafana, an image, a head in Kubernetes, the schemas of space and cluster files
#
# Component `worker` is what a machine needs that runs trials; `tune` is everything else.

# What is installed is built before: not the tests and benches as well.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(TUNE_PROGRAM_DIR lib/tune)
set(texts ${CMAKE_BINARY_DIR}/texts)

install(TARGETS tune tune_worker tune_trial tune_trial_command tune_trial_food11 food11
  RUNTIME DESTINATION ${TUNE_PROGRAM_DIR} COMPONENT worker)
# Those for newer processors (core/posix/processor_level.h), which scripts/package builds.
install(DIRECTORY ${CMAKE_BINARY_DIR}/levels/ DESTINATION ${TUNE_PROGRAM_DIR} COMPONENT worker
  USE_SOURCE_PERMISSIONS OPTIONAL)
install(DIRECTORY python/tune DESTINATION ${TUNE_PROGRAM_DIR}/python COMPONENT worker
  PATTERN __pycache__ EXCLUDE)
install(TARGETS tune_cli RUNTIME DESTINATION ${TUNE_PROGRAM_DIR} COMPONENT tune)
install(DIRECTORY python/tune_init DESTINATION ${TUNE_PROGRAM_DIR}/python COMPONENT tune
  PATTERN __pycache__ EXCLUDE)

# The programs write their own texts. tunectl: where Ray is installed, `tune` is Ray's program.
file(MAKE_DIRECTORY ${texts}/links)
foreach(name tune tunectl)
  file(CREATE_LINK ../${TUNE_PROGRAM_DIR}/tune ${texts}/links/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK tune ${texts}/tunectl SYMBOLIC)
file(CREATE_LINK ../../tune/python/tune ${texts}/module SYMBOLIC)
install(FILES ${texts}/links/tune DESTINATION bin COMPONENT worker)
install(FILES ${texts}/links/tunectl DESTINATION bin COMPONENT tune)
install(FILES ${texts}/tunectl DESTINATION ${TUNE_PROGRAM_DIR} COMPONENT tune)
install(CODE "
  file(REMOVE_RECURSE \"${texts}/man1\" \"${texts}/completions\")
  file(MAKE_DIRECTORY \"${texts}/completions\")
  execute_process(COMMAND \"$<TARGET_FILE:tune_cli>\" help --man \"${texts}/man1\"
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  foreach(shell bash zsh fish)
    execute_process(COMMAND \"$<TARGET_FILE:tune_cli>\" completion \${shell}
      OUTPUT_FILE \"${texts}/completions/\${shell}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND \"$<TARGET_FILE:tune_cli>\" schema
    OUTPUT_FILE \"${texts}/space.schema.json\" COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \"$<TARGET_FILE:tune_cli>\" schema --cluster
    OUTPUT_FILE \"${texts}/cluster.schema.json\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT tune)
install(DIRECTORY ${texts}/man1 DESTINATION share/man COMPONENT tune)
install(FILES ${texts}/completions/bash DESTINATION share/bash-completion/completions RENAME tune COMPONENT tune)
install(FILES ${texts}/completions/zsh DESTINATION share/zsh/vendor-completions RENAME _tune COMPONENT tune)
install(FILES ${texts}/completions/fish DESTINATION share/fish/vendor_completions.d RENAME tune.fish COMPONENT tune)
install(FILES README.md DESTINATION share/doc/tune COMPONENT tune)
install(DIRECTORY docs examples DESTINATION share/doc/tune COMPONENT tune USE_SOURCE_PERMISSIONS)
install(DIRECTORY share/prometheus share/grafana share/container share/kubernetes DESTINATION share/tune COMPONENT tune)
install(FILES ${texts}/space.schema.json ${texts}/cluster.schema.json DESTINATION share/tune/schema COMPONENT tune)
# A machine that is always a worker.
install(FILES share/systemd/tune-worker.service DESTINATION lib/systemd/system COMPONENT worker)
install(FILES share/systemd/tune-worker.sysusers DESTINATION lib/sysusers.d RENAME tune-worker.conf COMPONENT worker)
# A head of a person's own that is always there.
install(FILES share/systemd/tune-head.service DESTINATION lib/systemd/user COMPONENT tune)
# Debian's own Python finds the module without PYTHONPATH.
install(FILES ${texts}/module DESTINATION lib/python3/dist-packages RENAME tune COMPONENT worker)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tune)
set(CPACK_PACKAGE_VENDOR tune)
set(CPACK_PACKAGE_CONTACT "the tune developers <tune@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds good hyperparameters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tune worker)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TUNE_PACKAGE_NAME tune)
set(CPACK_DEBIAN_TUNE_PACKAGE_DEPENDS "tune-worker (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TUNE_PACKAGE_RECOMMENDS "python3, openssh-client")
set(CPACK_DEBIAN_TUNE_PACKAGE_SUGGESTS slurm-client)
set(CPACK_COMPONENT_TUNE_DESCRIPTION
  "Samples a search space, stops poor trials early, runs trials on workers that share CPUs and GPUs by
fractions, keeps everything in SQLite, and goes on after a kill.")
set(CPACK_DEBIAN_WORKER_PACKAGE_NAME tune-worker)
set(CPACK_DEBIAN_WORKER_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_SOURCE_DIR}/share/systemd/postinst;${CMAKE_CURRENT_SOURCE_DIR}/share/systemd/prerm")
set(CPACK_COMPONENT_WORKER_DESCRIPTION "What a machine needs that runs trials of a sweep of tune's.")
include(CPack)
