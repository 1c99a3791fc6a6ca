# Public headers as they are installed: below graphc/, including each other as <graphc/…>.
#
#   cmake -DSOURCE=REPOSITORY -DOUT=FOLDER -DHEADERS=a;b;c -P PublicHeaders.cmake
#
# frontend/graphc/NAME.h becomes OUT/graphc/NAME.h; runtime/base/NAME.h becomes OUT/graphc/runtime/base/NAME.h. What a header includes
# from elsewhere in the repository would not be there for its users, and is an error.
foreach(header ${HEADERS})
  file(READ ${SOURCE}/${header} text)
  string(REGEX REPLACE "#include \"frontend/graphc/([^\"]+)\"" "#include <graphc/\\1>" text "${text}")
  string(REGEX REPLACE "#include \"runtime/base/([^\"]+)\"" "#include <graphc/runtime/base/\\1>" text "${text}")
  if(text MATCHES "#include (\"[^\n]+)")
    message(FATAL_ERROR "${header} is public, but includes ${CMAKE_MATCH_1}, which is not")
  endif()
  string(REGEX REPLACE "^frontend/graphc/" "" name ${header})
  file(WRITE ${OUT}/graphc/${name}.new "${text}")
  file(COPY_FILE ${OUT}/graphc/${name}.new ${OUT}/graphc/${name} ONLY_IF_DIFFERENT)
  file(REMOVE ${OUT}/graphc/${name}.new)
endforeach()
