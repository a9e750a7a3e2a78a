/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutf8: names arrive in modified UTF-8 (JVM specification 4.4.7) and leave as UTF-8.
 *
 * Modified UTF-8 writes U+0000 as C0 80 and characters above U+FFFF as two surrogates of three bytes each.
 * Here the pairs become one character of four bytes, C0 80 becomes a NUL byte, and a surrogate without its
 * other half stays as its three bytes (WTF-8), so that nothing is lost. Bytes that are no modified UTF-8 stay
 * as they are, one by one: the tree escapes them.
 */
#ifndef HEAPFS_MUTF8_H
#define HEAPFS_MUTF8_H

#include <stddef.h>
#include <stdint.h>

/* Writes at most `len` bytes to `out`, which may be `in`; returns how many. */
size_t mutf8_to_utf8(const uint8_t *in, size_t len, char *out);

/*
 * Decodes one character of WTF-8 at `p` (`left` >= 1): returns its length in bytes and sets *code, a lone
 * surrogate's included. 0 for a byte that begins no character.
 */
unsigned utf8_decode(const uint8_t *p, size_t left, uint32_t *code);

/* Encodes a code point, surrogates included, in 1 to 4 bytes. */
unsigned utf8_encode(uint32_t code, char *out);

#endif
