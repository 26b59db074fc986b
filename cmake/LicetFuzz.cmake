# One libFuzzer program for each border of tests/fuzz/.
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LICET_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
endif()

file(GLOB LICET_FUZZERS CONFIGURE_DEPENDS tests/fuzz/*.c)
target_compile_options(licet_objects PRIVATE -fsanitize=fuzzer-no-link)
foreach(source IN LISTS LICET_FUZZERS)
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE licet_static)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(fuzz_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/fuzz")
endforeach()
