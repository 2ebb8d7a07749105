# Makes pydevd show the first fields of objects without a __repr__. Runs no code of the program.


def tandem():
    import itertools
    import types
    from _pydevd_bundle.pydevd_safe_repr import SafeRepr
    max_length, max_fields, max_string_length = 80, 5, 24
    get_name, get_mro, get_dict = [type.__dict__[name].__get__ for name in ('__name__', '__mro__', '__dict__')]
    plain_types = (int, float, bool, complex, type(None))

    def fields(value):
        # First the attributes in __dict__, then those of __slots__.
        slots = []
        for kind in get_mro(type(value)):
            for name, member in get_dict(kind).items():
                if type(member) is types.GetSetDescriptorType and name == '__dict__':
                    # One more field than the limit shows that there are more. A class of the program may override items: call that of dict.
                    yield from list(itertools.islice(dict.items(member.__get__(value)), max_fields + 1))
                elif type(member) is types.MemberDescriptorType and kind is not object:
                    slots.append((name, member))
        for name, member in slots:
            try:
                yield name, member.__get__(value)
            except AttributeError:
                pass

    def show(value, level):
        kind = type(value)
        if kind in plain_types:
            text = repr(value) if kind is not int or value.bit_length() < 200 else '...'
            return text
        if kind in (str, bytes):
            return repr(value[:max_string_length]) + ('...' if len(value) > max_string_length else '')
        if kind in (list, tuple, set, frozenset, dict) and level < 2:
            opening, closing = {list: '[]', tuple: '()', dict: '{}', set: '{}', frozenset: '{}'}[kind]
            parts = []
            # Do not look up keys: this would call __eq__ of the program.
            for part in value.items() if kind is dict else value:
                if len(parts) == max_fields:
                    parts.append('...')
                    break
                parts.append(': '.join(show(one, level + 1) for one in part) if kind is dict else show(part, level + 1))
            return opening + ', '.join(parts) + closing
        return get_name(kind) + '(...)'

    def summary(value):
        for kind in get_mro(type(value)):
            if '__repr__' in get_dict(kind):
                break
        if kind is not object:
            return None
        texts, left = [], max_length - len(get_name(type(value))) - 7
        for name, field in fields(value):
            text = name + '=' + show(field, 0) if len(texts) < max_fields and type(name) is str else ''
            if not text or len(text) > left:
                texts.append('...')
                break
            texts.append(text)
            left -= len(text) + 2
        return get_name(type(value)) + '(' + ', '.join(texts) + ')' if texts else None

    if hasattr(SafeRepr, 'tandem'):
        # Installed by the parent process before a fork, or by an earlier session.
        return
    original, SafeRepr.tandem = SafeRepr._repr_other, True

    def _repr_other(self, obj, level):
        if not self.raw_value:
            try:
                text = summary(obj)
            except Exception:
                text = None
            if text:
                return [text]
        return original(self, obj, level)
    SafeRepr._repr_other = _repr_other


tandem()
