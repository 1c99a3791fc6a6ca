// The table of one x86 level.
#include "runtime/cudasim/engine/handlers/Lanes.h"

namespace graphc::cudasim {

#define CUDASIM_TABLE2(level) level##Handlers
#define CUDASIM_TABLE(level) CUDASIM_TABLE2(level)
#define CUDASIM_TEXT2(level) #level
#define CUDASIM_TEXT(level) CUDASIM_TEXT2(level)

const Handlers &CUDASIM_TABLE(CUDASIM_LEVEL)() {
  using namespace CUDASIM_LEVEL;
  static const Handlers table = {
      CUDASIM_TEXT(CUDASIM_LEVEL), selectInteger, selectReal,       selectHalf,  selectConvert, selectConvertPack,
      selectCompare,               selectCompareSet, selectTestp,   selectLoad,  selectStore,   selectWarp,
      selectPredicate,             selectMma};
  return table;
}

} // namespace graphc::cudasim
