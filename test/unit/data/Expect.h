// EXPECT_ERROR(statement, code, "exact message").
#pragma once

#include "frontend/graphc/error.h"

#include <gmock/gmock.h>

#define EXPECT_ERROR(statement, expectedCode, matcher)                                                           \
  try {                                                                                                          \
    statement;                                                                                                   \
    ADD_FAILURE() << "no error";                                                                                 \
  } catch (const graphc::Error &problem) {                                                                       \
    EXPECT_EQ(problem.code(), expectedCode);                                                                     \
    EXPECT_THAT(problem.message(), matcher);                                                                     \
  }
