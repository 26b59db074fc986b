# licet_flags: how everything of ours is compiled and linked. licet_strict: the warnings that only
# the core has to satisfy; the host languages' headers and cmocka's macros do not.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)

add_library(licet_flags INTERFACE)
add_library(licet_strict INTERFACE)
target_compile_options(licet_strict INTERFACE -Wconversion)
target_compile_options(licet_flags INTERFACE -Wall -Wextra -Wformat=2 -Wimplicit-fallthrough -Werror=format-security)
if(LICET_WERROR)
    target_compile_options(licet_flags INTERFACE -Werror)
endif()

function(licet_compile_flags)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "LICET_HAS${flag}" supported)
        check_c_compiler_flag(${flag} ${supported})
        if(${supported})
            target_compile_options(licet_flags INTERFACE ${flag})
        endif()
    endforeach()
endfunction()

function(licet_link_flags)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "LICET_LINKS${flag}" supported)
        check_linker_flag(C ${flag} ${supported})
        if(${supported})
            target_link_options(licet_flags INTERFACE ${flag})
        endif()
    endforeach()
endfunction()

# Only the symbols that the map names leave the library, whatever the visibility of the rest.
function(licet_export_only target map)
    target_link_options(${target} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${map} -Wl,-z,nodelete)
    if(NOT LICET_SANITIZE)   # clang leaves the sanitizers' symbols to the program
        target_link_options(${target} PRIVATE -Wl,-z,defs)
    endif()
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${map})
endfunction()

set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG ${CMAKE_C_FLAGS_DEBUG})
set(CMAKE_CXX_FLAGS_RELEASE ${CMAKE_C_FLAGS_RELEASE})

# The same source gives the same bytes, wherever it lies.
licet_compile_flags(-ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}=.)

# These change what is defined behaviour, so every build has them.
licet_compile_flags(-fno-delete-null-pointer-checks -fno-strict-aliasing)
if(NOT LICET_SANITIZE MATCHES "undefined")   # it makes overflow defined, and then the sanitizer does not look for it
    licet_compile_flags(-fno-strict-overflow)
endif()

if(LICET_SANITIZE)
    target_compile_options(licet_flags INTERFACE -fsanitize=${LICET_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(licet_flags INTERFACE -fsanitize=${LICET_SANITIZE})
    # Their instrumentation leads gcc's flow analysis astray.
    licet_compile_flags(-Wno-maybe-uninitialized)
    if(LICET_SANITIZE MATCHES "undefined")
        target_compile_options(licet_flags INTERFACE -fno-sanitize-recover=undefined
                               $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
    endif()
else()
    # Zeroed variables would hide from the sanitizers what they are there to find.
    licet_compile_flags(-fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero
                        -fstrict-flex-arrays=3)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
        licet_compile_flags(-mbranch-protection=standard)
    else()
        licet_compile_flags(-fcf-protection=full)
    endif()
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
        target_compile_options(licet_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    endif()
endif()
licet_link_flags(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
