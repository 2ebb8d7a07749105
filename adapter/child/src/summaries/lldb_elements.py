# The meaning of a subscript in C++ and Rust. lldb takes the number in one for a position, also in a map. Runs in the debugger after the
# summaries, and reads memory.
import ast, json, time

FLOATS = [lldb.eBasicTypeHalf, lldb.eBasicTypeFloat, lldb.eBasicTypeDouble, lldb.eBasicTypeLongDouble]
# Containers whose elements have positions in C++ and Rust.
SUBSCRIPTED = {'vector', 'deque', 'Vec', 'VecDeque'}


class Refused(Exception):
    """The reason why an expression has no value."""


def keys_of(node, text):
    """The keys of a map, in the order of its elements."""
    if node.value.GetNumChildren() == 0:
        raise Refused('\x60%s\x60 has no elements' % text)
    for at in range(node.value.GetNumChildren()):
        yield node.value.GetChildAtIndex(at).GetNonSyntheticValue().GetChildAtIndex(0)


def get_position_of_key(keys, key, frame):
    """Finds the position of a key. None means that the keys cannot be compared here."""
    same, end = None, time.monotonic() + 2
    for at, held in enumerate(keys):
        same = same or compare_keys(get_plain_type(held.GetType()), key.lstrip('&') if RUST else key, frame)
        if same is None:
            return None
        if time.monotonic() > end:
            raise Refused('the map has too many elements for a search')
        if same(held):
            return at
    raise Refused('no element has the key %s' % key)


def compare_keys(kind, key, frame):
    """Returns a function that compares a key of this type with the one of an expression, or None."""
    if is_text(kind):
        wanted = read_literal(key)
        return None if wanted is None else lambda held: read_text(held) == wanted
    number = evaluate_index(key, frame)
    is_integer = kind.GetTypeClass() & (lldb.eTypeClassBuiltin | lldb.eTypeClassEnumeration) and kind.GetBasicType() not in FLOATS
    if number is None or not is_integer:
        return None
    mask = (1 << 8 * kind.GetByteSize()) - 1
    return lambda held: held.GetValueAsUnsigned() & mask == number & mask


def read_literal(text):
    try:
        return ast.literal_eval(text).encode() if re.fullmatch(r'"([^"\\]|\\["\\ntr0])*"', text) else None
    except (SyntaxError, ValueError, UnicodeError):
        return None


def read_text(value):
    """Reads the bytes of a string of GCC's library or of Rust."""
    if RUST:
        return rust_summary(value.GetSyntheticValue())[1:-1].encode()
    at = get_member(get_member(value, '_M_dataplus'), '_M_p')
    if not at.IsValid():
        return None
    size, error = get_member(value, '_M_string_length').GetValueAsUnsigned(), lldb.SBError()
    if size == 0 or size > 1 << 20:
        return b''
    return value.GetProcess().ReadMemory(at.GetValueAsUnsigned(), size, error)


def evaluate_index(text, frame):
    """Returns the integer that an index means, or None. Nothing that may change the program is evaluated."""
    text = text.strip()
    if re.fullmatch(r'-?\d+', text):
        return int(text)
    if RUST:
        text = re.sub(r'\s+as\s+\w+', '', text)
    if re.search(r'\((?!\s*\))|\+\+|--|=|"', text) or not RUST and '(' in text:
        return None
    path = find_expression(text, frame) or text
    value = frame.GetValueForVariablePath(path, lldb.eDynamicDontRunTarget)
    if not has_value(frame, path):
        value = frame.EvaluateExpression(path)
    kind = get_plain_type(value.GetType())
    if not value.GetError().Success() or not kind.GetTypeClass() & (lldb.eTypeClassBuiltin | lldb.eTypeClassEnumeration) or kind.GetBasicType() in FLOATS:
        return None
    return value.GetValueAsSigned()


def split_subscript(text):
    """Splits the text of a subscript from the rest."""
    depth, quote, escaped = 0, None, False
    for at, letter in enumerate(text):
        if quote:
            quote, escaped = (quote if letter != quote or escaped else None), letter == '\\' and not escaped
        elif letter in '"\'':
            quote = letter
        elif letter in '[]':
            depth += 1 if letter == '[' else -1
            if depth == 0:
                return text[1:at], text[at + 1:]
    return None


def name_elements(text, frame):
    """Returns the expression to evaluate for one with subscripts, in which lldb would take each number for a position. lldb compiles an
    expression in parentheses. Row [1] of a is a.[1]. None means that lldb compiles the expression in any case."""
    operators, rest = re.fullmatch(r'([*&]*)(.*)', text.strip(), re.S).groups()
    start = re.match(r'(::)?[A-Za-z_$]\w*(::[A-Za-z_$]\w*)*', rest)
    if not start:
        return None
    path, rest = start.group(), rest[start.end():]
    while rest:
        member = re.match(r'(\.|->)([A-Za-z_$0-9]\w*)', rest)
        if member:
            path, rest = path + member.group(), rest[member.end():]
            continue
        row = re.match(r'\.(\[\d+\])', rest)
        if row:
            path, rest = path + row.group(1), rest[row.end():]
            continue
        parts = split_subscript(rest) if rest[0] == '[' else None
        if parts is None:
            return None
        subscript, rest = parts
        path = name_element(path, subscript, frame)
        if path is None:
            return '(%s)' % text
    return operators + path


def has_value(frame, path):
    value = frame.GetValueForVariablePath(path, lldb.eDynamicDontRunTarget)
    return value.IsValid() and value.GetError().Success()


def name_element(path, subscript, frame):
    """Returns the path to an element. None means that the compiler of the language has to find it."""
    value = frame.GetValueForVariablePath(path, lldb.eDynamicDontRunTarget)
    if not has_value(frame, path):
        return None
    kind = get_plain_type(value.GetType())
    if kind.IsReferenceType():
        kind = get_plain_type(kind.GetDereferencedType())
    number = evaluate_index(subscript, frame)
    if kind.GetTypeClass() & (lldb.eTypeClassPointer | lldb.eTypeClassArray | lldb.eTypeClassVector | lldb.eTypeClassBuiltin):
        # Also the bits of a number.
        return '%s[%s]' % (path, subscript if number is None or '-' in subscript and len(subscript) > 2 else number)
    name = get_base_name(kind.GetName() or '')
    if not (kind.GetName() or '').startswith(LIBRARIES + ('&[', '&mut [')):
        return None
    node = Node(value)
    if name in MAPS and node.value.IsSynthetic():
        if name.endswith('multimap'):
            raise Refused('\x60%s\x60 is a %s, which has no elements by key' % (path, name))
        at = get_position_of_key(keys_of(node, path), subscript.strip(), frame)
        found = '%s[%d].' % (path, at or 0)
        # rustc's formatters name the parts of a tuple in another way.
        parts = [found + part for part in ('second', '__1', '1') if has_value(frame, found + part)]
        return None if at is None else parts[0] if parts else None
    if name == 'array' and get_member(node.raw, '_M_elems').IsValid():
        path += '._M_elems'
        count = get_member(node.raw, '_M_elems').GetNumChildren()
    elif name in SUBSCRIPTED or name.startswith(('&[', '&mut [')):
        count = node.value.GetNumChildren() if node.value.IsSynthetic() else None
    else:
        return None
    if number is None or count is None:
        return None
    check_index(number, path, count)
    return '%s[%d]' % (path, number)


def check_index(number, text, count):
    if not 0 <= number < count:
        raise Refused('the index %d is out of range: \x60%s\x60 has %d element%s' % (number, text, count, '' if count == 1 else 's'))


def answer_is_copy(debugger, command, context, result, _):
    """The command tandem-is-copy, for a path. A value outside of the program's memory whose variable is inside is a copy."""
    path, frame = command.strip(), context.GetFrame()
    variable = re.match(r'[\w:]*', path).group()
    places = [frame.GetValueForVariablePath(text, lldb.eDynamicDontRunTarget).GetLoadAddress() for text in (variable, path)]
    is_copy = has_value(frame, path) and places[0] != lldb.LLDB_INVALID_ADDRESS == places[1]
    result.AppendMessage('tandem-is-copy: ' + json.dumps(is_copy))
