/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/writer.h"

#include <inttypes.h>
#include <string.h>

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

void loli_put_text(FILE *out, const char *utf8, size_t len)
{
	struct loli_units units = loli_units(utf8, len);
	uint32_t count = 0;
	uint16_t unit;
	if (!utf8) {
		loli_put_u32(out, UINT32_MAX);
		return;
	}
	while (loli_next_unit(&units, &unit))
		count++;
	loli_put_u32(out, 2 * count);
	for (units = loli_units(utf8, len); loli_next_unit(&units, &unit);) {
		putc_unlocked(unit >> 8, out);
		putc_unlocked(unit & 0xff, out);
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
