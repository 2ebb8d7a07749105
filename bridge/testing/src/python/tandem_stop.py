"""Stops debugpy at the exception that failed a test, when the framework has found it to be a failure: its frames have ended, but are
there to be looked at. debugpy's own filter stops at each exception that a `with` block expects, too."""
import sys
import threading


def unwound(trace):
    """Leaves out what an exception passed in a `with` block's end (`subTest`): there the frame of the block is the caller's, too, and
    debugpy would show it at the line of the `with`."""
    callers = set()
    frame = trace.tb_frame.f_back
    while frame is not None:
        callers.add(frame)
        frame = frame.f_back
    start = trace
    while trace is not None:
        if trace.tb_frame in callers:
            start = trace
        trace = trace.tb_next
    return start


def stop_at(exception):
    """Stops where this was raised: its type, value and traceback. Does nothing without a debugger."""
    pydevd = sys.modules.get("pydevd")
    debugger = pydevd and pydevd.get_global_debugger()
    if debugger is None or exception[2] is None:
        return
    exception = (*exception[:2], unwound(exception[2]))
    try:
        trigger = getattr(debugger, "trigger_exception_handler", None)
        if trigger is not None:
            trigger(exception)
            return
        # debugpy before 1.8.22.
        from _pydevd_bundle.pydevd_breakpoints import stop_on_unhandled_exception

        thread = threading.current_thread()
        info = debugger.set_additional_thread_info(thread)
        info.is_tracing += 1
        try:
            stop_on_unhandled_exception(debugger, thread, info, exception)
        finally:
            info.is_tracing -= 1
    except Exception:
        pass
