// Everything of the training API.
#pragma once

#include "frontend/graphc/autograd.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/device.h"
#include "frontend/graphc/error.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/io.h"
#include "frontend/graphc/ops.h"
#include "frontend/graphc/random.h"
#include "frontend/graphc/tensor.h"
