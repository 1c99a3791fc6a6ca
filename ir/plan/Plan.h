#pragma once
#include "ir/graph/Graph.h"
#include "ir/plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/plan/PlanOps.h.inc"
