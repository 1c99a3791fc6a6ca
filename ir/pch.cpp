// Exists so that the precompiled header has a translation unit to belong to.
