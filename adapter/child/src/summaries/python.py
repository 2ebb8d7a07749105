# Has pydevd show objects that have no text of their own by their first fields. Reads what is there, and runs nothing of the program.


def tandem():
    import itertools
    import types
    from _pydevd_bundle.pydevd_safe_repr import SafeRepr
    longest, most, inner = 80, 5, 24
    name_of, mro_of, dict_of = [type.__dict__[name].__get__ for name in ('__name__', '__mro__', '__dict__')]
    plain = (int, float, bool, complex, type(None))

    def fields(value):
        # The first ones are those of the object itself, then those of __slots__.
        slots = []
        for kind in mro_of(type(value)):
            for name, member in dict_of(kind).items():
                if type(member) is types.GetSetDescriptorType and name == '__dict__':
                    # One field more than are shown says that there are more. The items of dict itself: a class of the program may have its own.
                    yield from list(itertools.islice(dict.items(member.__get__(value)), most + 1))
                elif type(member) is types.MemberDescriptorType and kind is not object:
                    slots.append((name, member))
        for name, member in slots:
            try:
                yield name, member.__get__(value)
            except AttributeError:
                pass

    def show(value, level):
        kind = type(value)
        if kind in plain:
            text = repr(value) if kind is not int or value.bit_length() < 200 else '...'
            return text
        if kind in (str, bytes):
            return repr(value[:inner]) + ('...' if len(value) > inner else '')
        if kind in (list, tuple, set, frozenset, dict) and level < 2:
            opening, closing = {list: '[]', tuple: '()', dict: '{}', set: '{}', frozenset: '{}'}[kind]
            parts = []
            # A look-up of a key would compare it with others, by their class's code.
            for part in value.items() if kind is dict else value:
                if len(parts) == most:
                    parts.append('...')
                    break
                parts.append(': '.join(show(one, level + 1) for one in part) if kind is dict else show(part, level + 1))
            return opening + ', '.join(parts) + closing
        return name_of(kind) + '(...)'

    def summary(value):
        for kind in mro_of(type(value)):
            if '__repr__' in dict_of(kind):
                break
        if kind is not object:
            return None
        texts, left = [], longest - len(name_of(type(value))) - 7
        for name, field in fields(value):
            text = name + '=' + show(field, 0) if len(texts) < most and type(name) is str else ''
            if not text or len(text) > left:
                texts.append('...')
                break
            texts.append(text)
            left -= len(text) + 2
        return name_of(type(value)) + '(' + ', '.join(texts) + ')' if texts else None

    if hasattr(SafeRepr, 'tandem'):
        # Of the process that this one was forked from, or of a session before.
        return
    kept, SafeRepr.tandem = SafeRepr._repr_other, True

    def _repr_other(self, obj, level):
        if not self.raw_value:
            try:
                text = summary(obj)
            except Exception:
                text = None
            if text:
                return [text]
        return kept(self, obj, level)
    SafeRepr._repr_other = _repr_other


tandem()
