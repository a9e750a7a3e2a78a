#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are two profiles of growth equal in content?

    loli_growth.py PROFILE OTHER

Such a profile has records with stacks, and symbols, but nothing else (the last part of README's table). Which UUIDs it has,
the keys of its libraries and the order of all things may differ. Prints what differs, or how much is equal.
"""
import struct
import sys


class Reader:
    def __init__(self, path):
        self.data, self.at = open(path, 'rb').read(), 0

    def take(self, form):
        value = struct.unpack_from('>' + form, self.data, self.at)
        self.at += struct.calcsize('>' + form)
        return value if len(value) > 1 else value[0]

    def text(self):
        length = self.take('I')
        if length == 0xffffffff:
            return None
        self.at += length
        return self.data[self.at - length:self.at].decode('utf-16-be', 'surrogatepass')

    def count(self):
        return range(self.take('i'))


def content(path):
    reader = Reader(path)
    head = reader.take('Iiii')  # magic, version, top of the chart, number of series
    libraries = {reader.take('I'): reader.text() for _ in range(reader.take('I'))}
    records = {}
    for _ in reader.count():
        uuid = reader.text()
        assert uuid not in records, 'a UUID twice'
        records[uuid] = reader.take('IiiQQI')
    stacks = {}
    for _ in reader.count():
        uuid = reader.text()
        stacks[uuid] = tuple(reader.take('IQ') for _ in reader.count())
    symbols = {}
    for _ in reader.count():
        library = reader.text()
        symbols[library] = sorted((reader.take('Q'), reader.text()) for _ in reader.count())
    rest = reader.take('iii')  # frees, screenshots, smaps
    assert reader.at == len(reader.data), 'bytes behind the end'
    assert set(stacks) == set(records), 'stacks that are of no record'
    return {
        'head': head,
        'libraries': set(libraries.values()),
        'numbers': sorted(record[0] for record in records.values()),
        'records': sorted((record[2], record[1], record[3], record[4], libraries[record[5]],
                           tuple((libraries[key], address) for key, address in stacks[uuid]))
                          for uuid, record in records.items()),
        'symbols': symbols,
        'rest': rest,
    }


ours, theirs = (content(path) for path in sys.argv[1:3])
for part, value in theirs.items():
    if ours[part] != value:
        print('%s: %.400s, expected %.400s' % (part, ours[part], value))
        break
else:
    print('%d records, %d libraries with symbols: equal' % (len(ours['records']), len(ours['symbols'])))
