# Removes the working folder from sys.path: `python -m debugpy` puts it there, and Python itself does not for a file. A
# module in that folder would be found only while the program is debugged.


def tandem_path():
    import os
    import sys
    with open('/proc/self/cmdline', 'rb') as file:
        words = file.read().split(b'\0')
    spec = getattr(sys.modules.get('__main__'), '__spec__', None)
    if b'--connect' not in words or spec is None or spec.name != 'debugpy.__main__':
        return
    if sys.path and sys.path[0] in ('', os.getcwd()) and not getattr(sys.flags, 'safe_path', sys.flags.isolated):
        del sys.path[0]


try:
    tandem_path()
except (OSError, AttributeError):
    pass
