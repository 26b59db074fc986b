# Of each entry of tests/fuzz/: with LICET_FUZZ a libFuzzer program; with LICET_TESTS a test that runs the inputs that
# are kept under tests/fuzz/corpus/.
file(GLOB LICET_FUZZERS CONFIGURE_DEPENDS tests/fuzz/*.c)
if(NOT LICET_WITH_POSTGRES)
    list(FILTER LICET_FUZZERS EXCLUDE REGEX "/postgres_")
endif()

# What both are made of.
function(licet_add_entry target source)
    add_executable(${target} ${source} tests/fuzz/support/values.c ${ARGN})
    target_include_directories(${target} PRIVATE tests/fuzz/support)
    target_link_libraries(${target} PRIVATE licet_static PkgConfig::JANSSON)
endfunction()

if(LICET_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "LICET_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
    endif()
    target_compile_options(licet_objects PRIVATE -fsanitize=fuzzer-no-link)
    foreach(source IN LISTS LICET_FUZZERS)
        get_filename_component(name ${source} NAME_WE)
        licet_add_entry(fuzz_${name} ${source})
        target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name}
                              RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fuzz")
    endforeach()
endif()

# The entries have one thread each: the thread sanitizer has nothing to see in them.
if(LICET_TESTS AND NOT LICET_SANITIZE MATCHES "thread")
    foreach(source IN LISTS LICET_FUZZERS)
        get_filename_component(name ${source} NAME_WE)
        licet_add_entry(replay_${name} ${source} tests/fuzz/support/replay.c)
        target_compile_definitions(replay_${name} PRIVATE FUZZ_ENTRY="${name}")
        target_link_libraries(replay_${name} PRIVATE licet_test_flags PkgConfig::CMOCKA)
        set_target_properties(replay_${name} PROPERTIES
                              RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
        add_test(NAME fuzz/${name} COMMAND replay_${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 900)
    endforeach()
endif()
