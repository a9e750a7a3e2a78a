/* SPDX-License-Identifier: Apache-2.0 */
#include "loli/put.h"

#include <inttypes.h>
#include <string.h>

#define UUID_CHARS 38

void loli_put_u32(FILE *out, uint32_t value)
{
	const uint8_t bytes[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value };
	fwrite(bytes, 1, sizeof bytes, out);
}

void loli_put_u64(FILE *out, uint64_t value)
{
	loli_put_u32(out, (uint32_t)(value >> 32));
	loli_put_u32(out, (uint32_t)value);
}

void loli_put_real(FILE *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	loli_put_u64(out, bits);
}

/* As UTF-16; or only how many units that is. */
static uint32_t put_units(FILE *out, const char *text, size_t len)
{
	struct loli_units units = loli_units(text, len);
	uint32_t count = 0;
	for (uint16_t unit; loli_next_unit(&units, &unit); count++)
		if (out) {
			putc(unit >> 8, out);
			putc(unit & 0xff, out);
		}
	return count;
}

void loli_put_text(FILE *out, const char *text, size_t len)
{
	loli_put_u32(out, text ? 2 * put_units(NULL, text, len) : UINT32_MAX);
	if (text)
		put_units(out, text, len);
}

void loli_put_uuid(FILE *out, struct loli_uuid uuid)
{
	char text[UUID_CHARS + 1];
	snprintf(text, sizeof text, "{%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "}",
		 uuid.high >> 32, uuid.high >> 16 & 0xffff, uuid.high & 0xffff, uuid.low >> 48,
		 uuid.low & UINT64_C(0xffffffffffff));
	loli_put_text(out, text, UUID_CHARS);
}
