// Everything that models are made of.
#pragma once

#include "frontend/graphc/init.h"
#include "frontend/graphc/layers.h"
#include "frontend/graphc/losses.h"
#include "frontend/graphc/module.h"
#include "frontend/graphc/recurrent.h"
#include "frontend/graphc/transformer.h"
