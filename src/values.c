/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool value_number(const char *value, unsigned least, unsigned most, unsigned *number)
{
	char *end;
	errno = 0;
	const unsigned long parsed = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || parsed > most || parsed < least)
		return false;
	*number = (unsigned)parsed;
	return true;
}

bool value_size(const char *value, uint64_t *size)
{
	static const char units[] = "KkMmGg";
	char *end;
	errno = 0;
	const unsigned long long number = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	const unsigned shift = unit ? 10 * (unsigned)((unit - units) / 2 + 1) : 0;
	if (*value < '0' || *value > '9' || errno || number > UINT64_MAX >> shift || end[unit != NULL])
		return false;
	*size = (uint64_t)number << shift;
	return true;
}
