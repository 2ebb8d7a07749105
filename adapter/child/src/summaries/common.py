# One-line summaries of values with parts in gdb and lldb: at most 80 characters and four levels. Runs in the debugger, reads memory, and
# calls no code of the program.
import re

MAX_LENGTH, MAX_LEVELS, MAX_PARTS = 80, 4, 30
SEQUENCES = {'Vec', 'VecDeque', 'LinkedList', 'HashSet', 'BTreeSet', 'vector', 'deque', 'list', 'forward_list', 'set', 'multiset',
             'unordered_set', 'unordered_multiset', 'stack', 'queue', 'priority_queue', 'span'}
MAPS = {'HashMap', 'BTreeMap', 'map', 'multimap', 'unordered_map', 'unordered_multimap'}
HOLDERS = {'optional', 'variant', 'any', 'unique_ptr', 'shared_ptr', 'weak_ptr'}
LIBRARIES = ('std::', 'alloc::', 'core::', 'hashbrown::')


def get_base_name(name):
    """Returns 'Vec' for 'alloc::vec::Vec<i32, alloc::alloc::Global>', and the name of a tuple or a slice unchanged."""
    name = re.sub(r'^(const|struct|class|enum|volatile) ', '', name)
    if not name or name[0] in '([&*':
        return name
    name, before = name.replace('->', ''), None
    while name != before:
        name, before = re.sub(r'<[^<>]*>', '', name), name
    return name.rsplit('::', 1)[-1].strip()


def escape(text):
    escapes = {'"': '\\"', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r', '\0': '\\0'}
    return ''.join(escapes.get(character, character) for character in text)


def truncate(text, room):
    if len(text) <= room:
        return text
    if len(text) > 1 and text[-1] in '"\'' and text[0] != '<':
        return text[:max(room - 2, 1)] + '\u2026' + text[-1]
    return text[:max(room - 1, 0)] + '\u2026'


def join_parts(opening, parts, closing, room):
    """Joins parts: pairs of a prefix and a function that renders the value in the given room. None means further parts."""
    left = room - len(opening) - len(closing)
    texts, parts = [], list(parts)
    for index, part in enumerate(parts):
        space = left - (3 if index + 1 < len(parts) else 0)
        text = part and part[0] + part[1](space - len(part[0]))
        if not text or len(text) > space:
            texts.append('\u2026')
            break
        texts.append(text)
        left -= len(text) + 2
    return opening + ', '.join(texts) + closing


def render_fields(node, level, equals):
    def part(name, value):
        return (name + equals if name else '', lambda room: show(value, room, level + 1))
    return [part(name, value) for name, value in node.fields(MAX_PARTS)] + ([None] if node.has_more else [])


def remove_names(parts):
    return [part and ('', part[1]) for part in parts]


def has_numbered_fields(node):
    names = [name for name, _ in node.fields(1)]
    return bool(names) and re.fullmatch(r'(__)?\d+', names[0]) is not None


def render_struct(name, node, room, level):
    parts = render_fields(node, level, ': ')
    if not parts:
        return name
    if has_numbered_fields(node):
        return join_parts(name + '(', remove_names(parts), ')', room)
    return join_parts(name + ' {', parts, '}', room)


def format_size(node, name, count):
    return name if count is None else '%s(size=%d)' % (name, count)


def show(node, room=MAX_LENGTH, level=0):
    """Renders a node. The text is longer than the room only if there is no shorter one."""
    text = node.text()
    if text is not None:
        return truncate(text, room) if node.is_string else text
    if level >= MAX_LEVELS:
        return '{\u2026}'
    name = node.type_name()
    kind = get_base_name(name)
    library = name.startswith(LIBRARIES) and node.is_known(kind)
    if node.is_array:
        return join_parts('[' if node.rust else '{', remove_names(render_fields(node, level, '')), ']' if node.rust else '}', room)
    if node.rust:
        variant = node.variant()
        if variant is not None:
            return render_struct(variant[0], variant[1], room, level)
        if kind.startswith(('&[', '&mut [')) and node.is_known(kind):
            return join_parts(format_size(node, kind, node.count()) + ' {', remove_names(render_fields(node, level, '')), '}', room)
    if library and kind == 'array':
        node = node.elements()
        return join_parts('array(size=%d) {' % len(node.fields(MAX_PARTS)), remove_names(render_fields(node, level, '')), '}', room)
    if library and kind in SEQUENCES:
        return join_parts(format_size(node, kind, node.count()) + ' {', remove_names(render_fields(node, level, '')), '}', room)
    if library and kind in MAPS:
        pairs = [pair and ('', pair) for pair in render_entries(node, level)]
        return join_parts(format_size(node, kind, node.count()) + ' {', pairs, '}', room)
    if library and kind in ('pair', 'tuple') or node.rust and name.startswith('('):
        return join_parts('(', remove_names(render_fields(node, level, '')), ')', room)
    inner = node.inner(kind) if library else None
    if inner is not None:
        header, held = inner
        if held is None:
            return header
        opening, closing = (' {', '}') if node.rust else ('(', ')')
        return join_parts(header + opening, [('', lambda room: show(held, room, level + 1))], closing, room)
    if node.rust:
        return render_struct(kind, node, room, level)
    return join_parts('{', render_fields(node, level, ' = '), '}', room)


def render_entries(node, level):
    def entry(key, value):
        def make(room):
            before = show(key, room, level + 1) + ': '
            return before + show(value, room - len(before), level + 1)
        return make
    return [entry(key, value) for key, value in node.entries(MAX_PARTS // 2)] + ([None] if node.has_more else [])
