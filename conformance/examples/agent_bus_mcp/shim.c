/* The wheel was built with glibc 2.38, whose headers give strtol and its kin a C23 version under names of its own.
   An older glibc has the old names only. They differ in how "0b1" is read, for base 0 and 2. */
#include <stdlib.h>

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }

long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }

unsigned long long __isoc23_strtoull(const char *text, char **end, int base) { return strtoull(text, end, base); }
