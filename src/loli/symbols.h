/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols: names of functions from outside a profile, for those that it does not name: a text of `nm -nC`, an ELF
 * library, through the system's nm, or a folder of libraries in Android's layout (<abi>/lib*.so).  A file's name
 * says which library it is for, as in LoliProfiler (src/mainwindow.cpp, LoadSymbolFile): what stands before the
 * first dot, and ".so".
 */
#ifndef HEAPFS_SYMBOLS_H
#define HEAPFS_SYMBOLS_H

#include "input/notes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_files;

/* `wide`: addresses have 64 bits. 0, or -1 with a message. What cannot be used of a folder is noted. */
int symbols_open(struct symbol_files **files, const char *const *paths, size_t count, bool wide, struct notes *notes,
		 char *error, size_t error_size);
void symbols_close(struct symbol_files *files);

/*
 * The function of `library` that holds `address`, a return address: one behind a call, which may be the last thing
 * that a function does. NULL if that is not known.
 */
const char *symbols_find(const struct symbol_files *files, const char *library, size_t library_len, uint64_t address,
			 size_t *len);
/* How many symbols there are, of how many libraries. */
size_t symbols_count(const struct symbol_files *files, size_t *libraries);

#endif
