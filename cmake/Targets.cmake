# sg_flags carries every warning and sanitizer flag; each target links it through sg_library.
add_library(sg_flags INTERFACE)
# GCC 12 reports -Wrestrict inside std::string (its bug 105651).
target_compile_options(sg_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Wno-restrict)
target_include_directories(sg_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(SG_WERROR)
  target_compile_options(sg_flags INTERFACE -Werror)
endif()
if(SG_SANITIZE)
  target_compile_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(sg_flags INTERFACE -fsanitize=${SG_SANITIZE})
endif()

# sg_library(NAME SOURCES … DEPS …): one layer's static library.
function(sg_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE sg_flags)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
endfunction()

# sg_test(NAME SOURCES … DEPS … [LABELS one] [TIMEOUT seconds]): one GoogleTest program, one CTest
# entry per test case.
include(GoogleTest)
function(sg_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest_main sg_flags)
  target_compile_definitions(${name} PRIVATE SG_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    SG_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
