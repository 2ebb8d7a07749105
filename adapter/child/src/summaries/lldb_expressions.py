# Expressions with paths that lldb does not compile: elements of containers, and what Rust reaches through references, Rc and Box. Each such
# path is replaced by a variable of lldb that refers to the same memory. Runs in the debugger after lldb_elements.py; calls no code of the
# program.

TOKENS = re.compile(r'''\s+|b?"(?:[^"\\]|\\.)*"|b?'(?:[^'\\]|\\.[^']*)'|\d\w*(?:\.\d\w*)?|(?:::)?[A-Za-z_$]\w*(?:::[A-Za-z_$]\w*)*|==|!=|.''', re.S)
NAME = re.compile(r'(::)?[A-Za-z_$]\w*(::[A-Za-z_$]\w*)*')
NUMBER = re.compile(r'(0x[\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?)(?:[iu](?:8|16|32|64|128|size)|f32|f64)?')
ASSIGNMENT = re.compile(r'\s*(=(?!=)|([-+*/%&|^]|<<|>>)=|\+\+|--)')
# Operators that need a variable: &, ++ and --.
BEFORE_VARIABLE = re.compile(r'(\+\+|--|(^|[(,=!<>+*/%|^?:-])\s*&)\s*$')
# Methods of Rust's library that need no code of the program.
METHODS = {'len', 'is_empty', 'is_some', 'is_none', 'is_ok', 'is_err', 'unwrap', 'borrow', 'borrow_mut'}
MAX_DEREFERENCES = 20
MAX_TREE_ENTRIES = 1 << 16


class Path:
    """A variable and the steps from it to a part: the name of a member, a subscript in brackets or a call of a method."""

    def __init__(self, text, start):
        self.start, self.steps = start, []
        self.base = NAME.match(text, start).group()
        self.end = start + len(self.base)
        while True:
            member = re.compile(r'\s*(\.|->)\s*([A-Za-z_$]\w*|\d+)').match(text, self.end)
            at = re.compile(r'\s*').match(text, self.end).end()
            parts = split_subscript(text[at:]) if text[at:at + 1] == '[' else None
            if member:
                call = re.compile(r'\s*\(\s*\)').match(text, member.end())
                name = member.group(2)
                is_call = call and RUST and name in METHODS
                self.steps.append(('call' if is_call else 'member', name, member.start()))
                self.end = call.end() if is_call else member.end()
            elif parts:
                self.steps.append(('element', parts[0], at))
                self.end = len(text) - len(parts[1])
            else:
                break
        if re.compile(r'\s*\(').match(text, self.end) and self.steps and self.steps[-1][0] == 'member':
            # A function of the program.
            self.end = self.steps.pop()[2]
        self.text = text[start:self.end]


def dereference(value):
    """Follows a pointer, a reference, a Box, an Rc or what RefCell::borrow returns; None for other values."""
    raw = value.GetNonSyntheticValue()
    kind = get_plain_type(raw.GetType())
    if kind.IsPointerType() or kind.IsReferenceType():
        return raw.Dereference()
    name = get_base_name(kind.GetName() or '')
    if (kind.GetName() or '').startswith(LIBRARIES) and name in ('Rc', 'Arc', 'Ref', 'RefMut'):
        found = Node(raw).inner(name)
        return found[1].raw if found and found[1] else None
    return None


def follow(value, find):
    """Looks for a part in a value, and in what it points to."""
    for _ in range(MAX_DEREFERENCES):
        if value is None or not value.IsValid():
            return None
        found = find(value)
        if found is not None:
            return found
        value = dereference(value)
    return None


def find_member(value, name):
    raw = value.GetNonSyntheticValue()
    found = raw.GetChildMemberWithName('__' + name if name.isdigit() else name)
    return found if found.IsValid() else None


def is_of_library(kind, *names):
    name = kind.GetName() or ''
    return name.startswith(LIBRARIES) and get_base_name(name) in names


def is_slice(kind):
    return (kind.GetName() or '').startswith(('&[', '&mut ['))


def find_element(value, subscript, text, frame):
    node = Node(value)
    if is_of_library(node.type, 'HashMap'):
        at = get_position_of_key(keys_of(node, text), subscript.strip(), frame)
        return None if at is None else node.value.GetChildAtIndex(at).GetNonSyntheticValue().GetChildAtIndex(1)
    if is_of_library(node.type, 'BTreeMap'):
        pairs = tree(node.raw, MAX_TREE_ENTRIES)
        if not pairs:
            raise Refused('\x60%s\x60 has no elements' % text)
        at = get_position_of_key((key for key, _ in pairs), subscript.strip(), frame)
        return None if at is None else pairs[at][1]
    if node.is_array or is_slice(node.type) or is_of_library(node.type, 'Vec', 'VecDeque'):
        number = evaluate_index(subscript, frame)
        if number is None:
            return None
        check_index(number, text, node.value.GetNumChildren())
        return node.value.GetChildAtIndex(number)
    return None


def get_length(value):
    """Returns the number of elements, or of bytes of a text; None for other values."""
    node = Node(value)
    if node.is_array:
        return node.raw.GetNumChildren()
    if is_slice(node.type) or node.type_name() in ('&str', '&mut str'):
        return get_member(node.raw, 'length').GetValueAsUnsigned()
    if is_of_library(node.type, 'String'):
        return get_length(get_member(node.raw, 'vec'))
    if is_of_library(node.type, 'Vec', 'VecDeque', 'HashMap', 'HashSet', 'BTreeMap', 'BTreeSet'):
        return node.count()
    return None


def call_method(value, name, text):
    """The result of a method of Rust's library: a value, a number or None."""
    if name in ('len', 'is_empty'):
        count = follow(value, get_length)
        return count if name == 'len' or count is None else count == 0
    if name in ('borrow', 'borrow_mut'):
        return follow(value, lambda cell: Node(cell).child('value') if is_of_library(Node(cell).type, 'RefCell') else None).raw
    variant = follow(value, lambda held: Node(held).variant() if is_of_library(Node(held).type, 'Option', 'Result') else None)
    if variant is None:
        return None
    if name != 'unwrap':
        return variant[0].lower() == name[3:]
    if variant[0] not in ('Some', 'Ok'):
        raise Refused('\x60%s\x60 is %s' % (text, variant[0]))
    return variant[1].raw.GetChildAtIndex(0)


def resolve(path, frame):
    """Finds a value of Rust by its path: a value, a number of Python, or None."""
    value = frame.GetValueForVariablePath(path.base, lldb.eDynamicDontRunTarget)
    if not has_value(frame, path.base):
        return None
    for step, what, at in path.steps:
        before = path.text[:at - path.start]
        if not isinstance(value, lldb.SBValue) or not value.IsValid():
            return None
        if step == 'call':
            value = call_method(value, what, before)
        elif step == 'member':
            value = follow(value, lambda held: find_member(held, what))
        else:
            value = follow(value, lambda held: find_element(held, what, before, frame))
    return value


def find_path(path, frame):
    """Finds what lldb does not compile: a value, a number of Python, or None."""
    if RUST:
        return resolve(path, frame) if path.steps else None
    if not any(step == 'element' for step, _, _ in path.steps):
        return None
    found = name_elements(path.text, frame)
    if not found or found.startswith('(') or found == path.text or not has_value(frame, found):
        return None
    return frame.GetValueForVariablePath(found, lldb.eDynamicDontRunTarget)


def refer_to(value, text, is_set):
    """Returns the expression for a value that was found: a variable of lldb that refers to it."""
    if isinstance(value, int):
        return str(value).lower()
    if is_set and value.GetLoadAddress() == lldb.LLDB_INVALID_ADDRESS:
        raise Refused('\x60%s\x60 is shown as a copy, which cannot be set' % text)
    variable = value.Persist()
    return variable.GetName() if variable.IsValid() else None


def as_cpp(token):
    """A literal of Rust as one of C++."""
    number = NUMBER.fullmatch(token)
    if number:
        return number.group(1).replace('_', '')
    if re.fullmatch(r"b?'.*'", token, re.S):
        text = token[token.index("'") + 1:-1]
        point = re.fullmatch(r'\\u\{([\da-fA-F]+)\}', text)
        if point:
            return str(int(point.group(1), 16))
        return str(ord(text)) if len(text) == 1 and not text.isascii() else "'%s'" % text
    return token


def compare(tokens):
    """Replaces comparisons of texts with literals, and of enumerations with their names. Each token is a text and the value it names."""
    places = [at for at, (text, _) in enumerate(tokens) if text.strip()]
    for left, operator, right in zip(places, places[1:], places[2:]):
        if tokens[operator][0] not in ('==', '!='):
            continue
        for at, other in ((left, right), (right, left)):
            value, literal = tokens[at][1], tokens[other][0]
            if not isinstance(value, lldb.SBValue):
                continue
            kind = get_plain_type(value.GetType())
            if literal[:1] == '"':
                found = follow(value, lambda held: held if is_text(held.GetType()) else None)
                held, wanted = read_text(found) if found else None, read_literal(literal)
                if held is None or wanted is None:
                    continue
                tokens[at], tokens[other] = (str(held == wanted).lower(), None), ('true', None)
            elif RUST and '::' in literal and kind.GetTypeClass() & lldb.eTypeClassEnumeration:
                names = {member.GetName(): member.GetValueAsSigned() for member in kind.GetEnumMembers()}
                number = names.get(literal.rsplit('::', 1)[1])
                if number is not None:
                    tokens[at], tokens[other] = (str(value.GetValueAsSigned()), None), (str(number), None)
            else:
                continue
            break


def replace_paths(text, frame):
    """Returns an expression that lldb compiles in place of this one, or the same."""
    tokens, at = [], 0
    while at < len(text):
        # A name after a dot is a member of what precedes it.
        is_member = at > 0 and re.search(r'(\.|->|[\w$])\s*$', text[:at])
        path = Path(text, at) if NAME.match(text, at) and not is_member else None
        if path is None:
            token = TOKENS.match(text, at).group()
            tokens.append((as_cpp(token) if RUST else token, None))
            at += len(token)
            continue
        at = path.end
        tokens.append((path.text, path))
    found = []
    for token, path in tokens:
        value = find_path(path, frame) if path else None
        if value is None and path and not path.steps and has_value(frame, path.base):
            value = frame.GetValueForVariablePath(path.base, lldb.eDynamicDontRunTarget)
        found.append((token, value))
    compare(found)
    parts = []
    for index, (token, value) in enumerate(found):
        path = tokens[index][1]
        if value is not None and path and path.steps:
            is_set = ASSIGNMENT.match(text, path.end) or BEFORE_VARIABLE.search(text[:path.start])
            token = refer_to(value, path.text, is_set) or token
        parts.append(token)
    return ''.join(parts)


def find_expression(text, frame):
    """Returns the expression to evaluate for this one; None means that lldb compiles it as it is."""
    named = None
    if not RUST:
        named = name_elements(text, frame)
        return named if named and named != '(%s)' % text else replace_if_needed(text, frame) or named
    path = Path(text.strip(), 0) if NAME.match(text.strip()) else None
    if path and path.end == len(text.strip()) and path.steps:
        value = resolve(path, frame)
        named = name_elements(text, frame)
        if isinstance(value, lldb.SBValue) and named and has_value(frame, named) and is_same(value, frame, named):
            return named
        if value is None:
            return named
    return replace_if_needed(text, frame)


def replace_if_needed(text, frame):
    replaced = replace_paths(text, frame)
    return replaced if replaced != text else None


def is_same(value, frame, path):
    other = frame.GetValueForVariablePath(path, lldb.eDynamicDontRunTarget)
    return value.GetLoadAddress() == other.GetLoadAddress() and value.GetType() == other.GetType()


def answer_find_expression(debugger, command, context, result, _):
    """The command tandem-elements, for an expression as a JSON string."""
    try:
        answer = {'expression': find_expression(json.loads(command), context.GetFrame())}
    except Refused as refusal:
        answer = {'refusal': str(refusal)}
    except Exception as error:
        answer = {'error': repr(error)}
    result.AppendMessage('tandem-elements: ' + json.dumps(answer))
