/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/writer.h"

#include "hprof/mutf8.h"

#include <inttypes.h>
#include <string.h>

#define REPLACEMENT 0xfffd

void loli_put_u32(FILE *out, uint32_t value)
{
	const uint32_t big = __builtin_bswap32(value);
	fwrite(&big, sizeof big, 1, out);
}

void loli_put_u64(FILE *out, uint64_t value)
{
	const uint64_t big = __builtin_bswap64(value);
	fwrite(&big, sizeof big, 1, out);
}

void loli_put_real(FILE *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	loli_put_u64(out, bits);
}

/* The next one or two units at *at, and moves it. */
static unsigned next_units(const char *utf8, size_t len, size_t *at, uint16_t units[2])
{
	uint32_t code;
	const unsigned used = utf8_decode((const uint8_t *)utf8 + *at, len - *at, &code);
	*at += used ? used : 1;
	if (!used)
		code = REPLACEMENT;
	if (code < 0x10000) {
		units[0] = (uint16_t)code;
		return 1;
	}
	units[0] = (uint16_t)(0xd800 + ((code - 0x10000) >> 10));
	units[1] = (uint16_t)(0xdc00 + ((code - 0x10000) & 0x3ff));
	return 2;
}

void loli_put_text(FILE *out, const char *utf8, size_t len)
{
	uint16_t units[2];
	uint32_t count = 0;
	if (!utf8) {
		loli_put_u32(out, UINT32_MAX);
		return;
	}
	for (size_t at = 0; at < len;)
		count += next_units(utf8, len, &at, units);
	loli_put_u32(out, 2 * count);
	for (size_t at = 0; at < len;) {
		const unsigned got = next_units(utf8, len, &at, units);
		for (unsigned i = 0; i < got; i++) {
			putc_unlocked(units[i] >> 8, out);
			putc_unlocked(units[i] & 0xff, out);
		}
	}
}

void loli_put_uuid(FILE *out, struct loli_uuid uuid)
{
	char text[40];
	const int len = snprintf(text, sizeof text, "{%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "}",
				 uuid.high >> 32, uuid.high >> 16 & 0xffff, uuid.high & 0xffff, uuid.low >> 48,
				 uuid.low & UINT64_C(0xffffffffffff));
	loli_put_text(out, text, (size_t)len);
}

uint32_t loli_key(const char *utf8, size_t len)
{
	uint16_t units[2];
	uint32_t key = 0;
	for (size_t at = 0; at < len;) {
		const unsigned got = next_units(utf8, len, &at, units);
		for (unsigned i = 0; i < got; i++)
			key = key * 31 + units[i];
	}
	return key;
}
