# find_package(graphc): targets graphc::runtime (loads .gcx files, no LLVM) and, where the compiler was built, graphc::graphc.
include(${CMAKE_CURRENT_LIST_DIR}/graphcTargets.cmake)
foreach(component ${graphc_FIND_COMPONENTS})
  if(NOT TARGET graphc::${component})
    set(graphc_FOUND FALSE)
    set(graphc_NOT_FOUND_MESSAGE "this installation of graphc has no ${component}")
  endif()
endforeach()
