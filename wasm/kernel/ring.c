/* Works on the ring where it lies: the module imports the ring's shared memory and has none of its own. */
#include "xxh64.h"
