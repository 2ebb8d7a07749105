# Makes breakpoint() follow PYTHONBREAKPOINT as Python's own hook does, also where it is 0. debugpy's hook ignores it.


def tandem_breakpoints():
    import os
    import sys
    original = getattr(sys, 'breakpointhook', None)
    if original is None or original is sys.__breakpointhook__ or hasattr(original, 'tandem'):
        return

    def breakpointhook(*arguments, **named):
        if os.environ.get('PYTHONBREAKPOINT') and not sys.flags.ignore_environment:
            return sys.__breakpointhook__(*arguments, **named)
        return original(*arguments, **named)

    breakpointhook.tandem = True
    sys.breakpointhook = breakpointhook


tandem_breakpoints()
