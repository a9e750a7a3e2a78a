#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a mounted native profile with what is known of it.

    loli_truth.py MOUNT TRUTH.json [DUMP.txt]
    loli_truth.py --nameless TRUTH.json PROFILE OUT

TRUTH.json is what an independent reader found in the file, DUMP.txt what LoliProfilerCLI --dump printed of it. Prints a
line for each thing that differs, and last how many things were compared. The second form writes a profile without the
names in its symbols.
"""
import collections
import hashlib
import json
import os
import re
import struct
import sys


def nameless(path, data):
    """The symbols' section with empty names: libraries, and of each addresses with names."""
    begin, end = (json.load(open(path))['section_offsets'][name] for name in ('symbols', 'frees'))
    out, at = data[:begin + 4], begin + 4
    for _ in range(struct.unpack_from('>i', data, begin)[0]):
        length = struct.unpack_from('>I', data, at)[0]
        count = struct.unpack_from('>i', data, at + 4 + length)[0]
        out += data[at:at + 8 + length]
        at += 8 + length
        for _ in range(count):
            out += data[at:at + 8] + bytes(4)
            at += 12 + struct.unpack_from('>I', data, at + 8)[0]
    assert at == end
    return out + data[end:]


if sys.argv[1] == '--nameless':
    open(sys.argv[4], 'wb').write(nameless(sys.argv[2], open(sys.argv[3], 'rb').read()))
    sys.exit()
mount, truth = sys.argv[1], json.load(open(sys.argv[2]))
compared = 0
different = 0


def same(what, seen, expected):
    global compared, different
    compared += 1
    if seen != expected:
        different += 1
        print('%s: %.300s, expected %.300s' % (what, seen, expected))


def escape(name):
    def one(match):
        short = {'\n': '\\n', '\t': '\\t', '\r': '\\r', '\\': '\\\\'}
        return short.get(match.group(0), '\\u%04x' % ord(match.group(0)))
    return re.sub('[\0-\x1f\\\\\x7f-\x9f\ud800-\udfff]', one, name or '')


def table(name):
    lines = open(os.path.join(mount, name), newline='\n').read().split('\n')
    head = lines[0].split('\t')
    return [dict(zip(head, line.split('\t'))) for line in lines[1:-1]]


def number(row, *columns):
    return sum(int(row[column]) for column in columns)


info = dict(line.rstrip('\n').split(': ', 1) for line in open(os.path.join(mount, 'info.txt')))
records = table('allocations.tsv')
live = [row for row in records if row['state'] == 'live']
symbols = {(row['library'], row['address']): row['function'] for row in table('symbols.tsv')}
libraries = {row['library']: row for row in table('libraries.tsv')}


def frames_of(stack):
    """Frames, root first, without the library that tells two functions of one name apart."""
    frames = []
    for frame in stack.split(';'):
        name, at, library = frame.rpartition('@')
        frames.append(name if at and library in libraries else frame)
    return frames


def label(name):
    return escape(name).replace(';', ':')


# --- sums ---

known = truth['records']
same('records', (len(records), int(info['records'])), (known['count'], known['count']))
same('bytes', sum(number(row, 'size') for row in records), known['total_size'])
same('live', (len(live), sum(number(row, 'size') for row in live)), (known['live_count'], known['live_size']))
same('live bytes', int(info['live bytes']), known['live_size'])
same('freed', int(info['freed']), known['freed_count'])
same('live.tsv', [row for row in table('live.tsv')], live)
same('freed.tsv', [row for row in table('freed.tsv')], [row for row in records if row['state'] == 'freed'])
same('order', [number(row, 'seq') for row in records], sorted(number(row, 'seq') for row in records))
if records:
    same('time', info['time range'], '%d to %d ms' % (known['min_time_ms'], known['max_time_ms']))
    same('seq', (number(records[0], 'seq'), number(records[-1], 'seq')), (known['min_seq'], known['max_seq']))
for name, of in truth['by_library'].items():
    row = libraries.get('' if name == 'None' else escape(name))
    same('library ' + name, row and (number(row, 'self_bytes', 'freed_bytes'), number(row, 'self_count', 'freed_count')),
         (of['size'], of['count']))
functions = table('functions.tsv')
for column, expected in (('self_bytes', known['live_size']), ('self_count', known['live_count']),
                         ('freed_count', known['freed_count']),
                         ('freed_bytes', known['total_size'] - known['live_size'])):
    same('functions.tsv ' + column, sum(number(row, column) for row in functions), expected)
    same('libraries.tsv ' + column, sum(number(row, column) for row in libraries.values()), expected)

# --- stacks ---

stacks = [row for row in table('callstacks.tsv') if not row['stack'].startswith('[no call stack]')]
same('call stacks', info['call stacks'].split(';')[0], '%d, of %d frames' %
     (truth['callstacks']['count'], truth['callstacks']['frames']))
same('different stacks', len({row['stack'] for row in stacks if number(row, 'count')}), truth['distinct_live_stacks'])
by_frames = {tuple(frames_of(row['stack'])): (number(row, 'bytes'), number(row, 'count')) for row in stacks}
for top in truth['top_live_stacks_leaf_first']:
    same('a stack', by_frames.get(tuple(label(frame) for frame in reversed(top['frames']))), (top['size'], top['count']))

# --- other sections ---

by_library = collections.Counter(library for library, _ in symbols)
named = collections.Counter(library for (library, _), name in symbols.items() if name)
for name, of in truth['symbols'].items():
    name = escape(name)
    same('symbols of ' + name, (by_library[name], named[name]), (of['addresses'], of['named']))
same('frees', int(info['frees']), truth['free_map']['count'])
shots = sorted(os.listdir(os.path.join(mount, 'screenshots')))
same('screenshots', len(shots), len(truth['screenshots']))
for shot in truth['screenshots']:
    name = '%04ds.%s' % (shot['time_s'], 'png' if shot['magic'] == '89504e47' else 'jpg')
    same('screenshot ' + name, hashlib.sha256(open(os.path.join(mount, 'screenshots', name), 'rb').read()).hexdigest(), shot['sha256'])
smaps = table('smaps.tsv')
if len(set(truth['smaps']['names'])) == truth['smaps']['sections']:
    same('mappings', sorted(row['name'] for row in smaps), sorted(escape(name) for name in truth['smaps']['names']))
    for name, kib in truth['smaps']['totals_kb'].items():
        same('smaps ' + name, sum(number(row, name + '_kib') for row in smaps), kib)
    same('fragmentation', [row['name'] for row in table('fragmentation.tsv')], [row['name'] for row in smaps])
    same('ranges', sum(number(row, 'ranges') for row in table('fragmentation.tsv')), truth['smaps']['ranges'])
for row in table('fragmentation.tsv'):
    same('used and free of ' + row['name'], number(row, 'used', 'free'), number(row, 'bytes'))
timeline = table('timeline.tsv')
columns = ['total', 'native_heap', 'gfx_dev', 'egl_mtrack', 'gl_mtrack', 'unknown']
for column, series in zip(columns, truth['meminfo']['series']):
    points = [[float(row['seconds']), float(row[column + '_mib'])] for row in timeline if row[column + '_mib']]
    same(column, (len(points), points[0] if points else None, points[-1] if points else None),
         (series['points'], series['first'], series['last']))

# --- everything, where it is known ---


def merged(blocks):
    joined = []
    for start, end in sorted(blocks):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


def space(ranges, blocks):
    """Bytes in use and the largest gap, as counted by hand."""
    used = largest = 0
    for start, end, _ in ranges:
        at = start
        for low, high in blocks:
            low, high = max(low, start), min(high, end)
            if low < high:
                largest, used, at = max(largest, low - at), used + high - low, high
        largest = max(largest, end - at)
    return used, largest


def compare_all():
    names = {int(key): name for key, name in (truth['string_table']['entries'] or {}).items()}
    repeated = truth['string_table']['count'] != len(names) or known['distinct_uuid'] != known['count']
    frees = {int(address, 16): seq for address, seq in truth['all_frees'].items()}

    def function(library, address):
        library = names.get(int(library)) or ''
        return label(truth['all_symbols'].get(library, {}).get(address) or '%s!%s' % (library, address))

    expected, self_bytes, total_bytes = [], collections.Counter(), collections.Counter()
    for record in truth['all_records']:
        freed = int(record['addr'], 16) in frees and record['seq'] < frees[int(record['addr'], 16)]
        stack = truth['all_stacks'].get(record['uuid']) or []
        expected.append((record['seq'], record['time_ms'], record['size'], record['addr'], 'freed' if freed else 'live',
                         escape(record['library']), tuple(function(*frame) for frame in reversed(stack))))
        if stack and not freed:
            own = next((frame for frame in stack if names.get(int(frame[0])) != 'libloli.so'), stack[0])
            self_bytes[escape(names.get(int(own[0]))), function(*own)] += record['size']
            for place in {(escape(names.get(int(frame[0]))), function(*frame)) for frame in stack}:
                total_bytes[place] += record['size']
    seen = [(number(row, 'seq'), number(row, 'time_ms'), number(row, 'size'), row['address'], row['state'], row['library'],
             () if row['stack'].startswith('[no call stack]') else tuple(frames_of(row['stack']))) for row in records]
    if repeated:
        return
    same('all records', sorted(seen), sorted(expected))
    for row in functions:
        place = row['library'], row['function'].replace(';', ':')
        same('function %s %s' % place, (number(row, 'self_bytes'), number(row, 'total_bytes')),
             (self_bytes[place], total_bytes[place]))
    same('all functions', {place for place in total_bytes} - {(row['library'], row['function'].replace(';', ':'))
                                                              for row in functions}, set())
    same('all symbols', symbols, {(escape(library), address): escape(name)
                                  for library, of in truth['all_symbols'].items() for address, name in of.items()})
    same('all series', [[float(row['seconds'])] + [float(row[column + '_mib']) for column in columns] for row in timeline],
         [[points[0][0]] + [point[1] for point in points] for points in zip(*truth['all_series'])])
    kib = {row['name']: [int(row[column]) for column in list(row)[1:]] for row in smaps}
    blocks = merged((int(record[3], 16), int(record[3], 16) + record[2]) for record in expected if record[4] == 'live')
    holes = {row['name']: (number(row, 'used'), number(row, 'largest_gap')) for row in table('fragmentation.tsv')}
    for name, of in truth['all_smaps'].items():
        same('mapping ' + name, kib.get(escape(name)), of['kb'])
        ranges = [[int(value, 16) for value in one] for one in of['ranges']]
        same('space of ' + name, holes.get(escape(name)), space(ranges, blocks))


if 'all_records' in truth:
    compare_all()

# --- LoliProfilerCLI --dump ---


def size_text(size):
    for unit, name in ((1 << 30, 'GB'), (1 << 20, 'MB'), (1 << 10, 'KB')):
        if size > unit or (size == unit and unit > 1024):
            hundredths = (200 * size + unit) // (2 * unit)
            return '%d.%02d %s' % (hundredths // 100, hundredths % 100, name)
    return '%d Bytes' % size


def dump_name(frame):
    """Places that have an entry without a name are nameless there; such siblings are one."""
    library, _, address = frame.rpartition('!')
    return '' if symbols.get((library, address)) == '' else frame


RECORD_REST = 28  # bytes of a record behind its UUID and number: time, size, two addresses, library


def file_order():
    """Numbers of the records as they stand in raw.loli: the comparator's nodes are made in that order, and equal ones
    stay in it. Up to there the file holds series of points, then pairs of a number and a text (UTF-16)."""
    raw = open(os.path.join(mount, 'raw.loli'), 'rb').read()
    at = 12

    def take(form):
        nonlocal at
        value = struct.unpack_from('>' + form, raw, at)[0]
        at += struct.calcsize(form)
        return value

    def skip_text():
        nonlocal at
        length = take('I')
        at += 0 if length == 0xffffffff else length
    for _ in range(take('i')):
        at += 16 * struct.unpack_from('>i', raw, at)[0] + 4
    for _ in range(take('i')):
        at += 4
        skip_text()
    order = []
    for _ in range(take('i')):
        skip_text()
        order.append(take('I'))
        at += RECORD_REST
    return order


def our_dump():
    """The report, byte for byte: siblings by size, equal ones as they were made."""
    place = {seq: n for n, seq in enumerate(file_order())}
    root = ['', 0, 0, {}]
    for row in sorted(live, key=lambda row: place[number(row, 'seq')]):
        if row['stack'].startswith('[no call stack]'):
            continue
        node = root
        for name in (dump_name(frame) for frame in frames_of(row['stack'])):
            node = node[3].setdefault(name, [name, 0, 0, {}])
            node[1] += number(row, 'size')
            node[2] += 1
    lines = ['=== LoliProfiler Profile Report ===', '', 'Total allocations: %d' % len(live),
             'Total size: ' + size_text(sum(number(row, 'size') for row in live)), '',
             '=== Memory Allocations ===', '']

    def put(node, depth):
        for child in sorted(node[3].values(), key=lambda child: -child[1]):
            lines.append('    ' * depth + '%s, %s, %d' % (child[0], size_text(child[1]), child[2]))
            put(child, depth + 1)
    put(root, 0)
    return '\n'.join(lines) + '\n'


if len(sys.argv) > 3:
    same('the dump, byte for byte', our_dump().encode(), open(sys.argv[3], 'rb').read())
print('%d compared' % compared)
sys.exit(different > 0)
