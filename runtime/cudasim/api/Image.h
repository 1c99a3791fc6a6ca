// What cuModuleLoadData and its kin are given: PTX text, or a fatbinary that holds some.
#pragma once

#include <string>

namespace graphc::cudasim {

/// The PTX in an image, for a device of that compute capability (the newest target that is not above it). False with
/// the reason when there is none: machine code alone cannot be simulated.
bool ptxOfImage(const void *image, int capability, std::string &ptx, std::string &why);

} // namespace graphc::cudasim
