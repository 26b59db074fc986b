# Each file of tests/core/, tests/bindings/, tests/faults/ and tests/conformance/ is one cmocka program, named after
# its path. Files of a folder called support/ are linked into all of them.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

file(GLOB LICET_TEST_SUPPORT CONFIGURE_DEPENDS tests/core/support/*.c tests/conformance/support/*.c)
file(GLOB_RECURSE LICET_TEST_SOURCES CONFIGURE_DEPENDS
     tests/core/*.c tests/bindings/*.c tests/faults/*.c tests/conformance/*.c)
list(FILTER LICET_TEST_SOURCES EXCLUDE REGEX "/support/")
if(NOT LICET_WITH_POSTGRES)
    list(FILTER LICET_TEST_SOURCES EXCLUDE REGEX "/postgres_[^/]*$|/postgres/")
    list(FILTER LICET_TEST_SUPPORT EXCLUDE REGEX "/pg_database\\.c$")
endif()

add_library(licet_test_flags INTERFACE)
target_include_directories(licet_test_flags INTERFACE tests/core/support tests/conformance/support)
target_compile_definitions(licet_test_flags INTERFACE LICET_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(licet_test_flags INTERFACE licet_private licet_flags PkgConfig::CMOCKA PkgConfig::JANSSON)

if(LICET_TEST_SUPPORT)
    add_library(licet_test_support OBJECT ${LICET_TEST_SUPPORT})
    target_link_libraries(licet_test_support PRIVATE licet_test_flags)
endif()

foreach(source IN LISTS LICET_TEST_SOURCES)
    file(RELATIVE_PATH path ${CMAKE_CURRENT_SOURCE_DIR}/tests ${source})
    string(REGEX REPLACE "\\.c$" "" path ${path})
    string(REPLACE "/" "_" target "test_${path}")
    add_executable(${target} ${source})
    if(LICET_TEST_SUPPORT)
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:licet_test_support>)
    endif()
    target_link_libraries(${target} PRIVATE licet_test_flags licet_static PkgConfig::CMOCKA)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tests")
    add_test(NAME ${path} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_tests_properties(${path} PROPERTIES TIMEOUT 900)
endforeach()
