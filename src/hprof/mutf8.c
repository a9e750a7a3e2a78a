/* SPDX-License-Identifier: Apache-2.0 */
#include "hprof/mutf8.h"

unsigned utf8_encode(uint32_t code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

unsigned utf8_decode(const uint8_t *p, size_t left, uint32_t *code)
{
	static const uint32_t lowest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (p[0] < 0x80) {
		*code = p[0];
		return 1;
	}
	const unsigned len = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 :
			     p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
	if (!len || left < len)
		return 0;
	uint32_t value = p[0] & (0x7fu >> len);
	for (unsigned i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (value < lowest[len] || value > 0x10ffff)
		return 0;
	*code = value;
	return len;
}

size_t mutf8_to_utf8(const uint8_t *in, size_t len, char *out)
{
	size_t n = 0;
	for (size_t i = 0; i < len;) {
		uint32_t code, low;
		unsigned used;
		if (in[i] == 0xc0 && i + 1 < len && in[i + 1] == 0x80) {
			out[n++] = 0;
			i += 2;
		} else if (!(used = utf8_decode(in + i, len - i, &code))) {
			out[n++] = (char)in[i++];
		} else if (code >= 0xd800 && code < 0xdc00 && len - i >= 6 && utf8_decode(in + i + 3, 3, &low) == 3 &&
			   low >= 0xdc00 && low < 0xe000) {
			/* Never longer than what it was made from, so out may be in. */
			n += utf8_encode(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), out + n);
			i += 6;
		} else {
			n += utf8_encode(code, out + n);
			i += used;
		}
	}
	return n;
}
