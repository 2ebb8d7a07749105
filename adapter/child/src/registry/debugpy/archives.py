# Finds the sources of modules in archives: zipapps (`app.pyz`) as well as `.zip` and `.egg` files. A module whose text
# is also in a file beside the archive has the path of that file, so that breakpoints there stop. pydevd takes any folder
# whose name has `.zip` or `.egg` in it for an archive, and knows no other.


def tandem_archives():
    import os
    import pydevd_file_utils as files
    original = files._apply_func_and_normalize_case
    if hasattr(original, 'tandem'):
        return
    is_file, is_folder, exists, join, split_path = [
        getattr(os.path, name) for name in ('isfile', 'isdir', 'exists', 'join', 'split')]
    is_absolute, make_absolute, stat, listdir = os.path.isabs, os.path.abspath, os.stat, os.listdir
    most_folders, most_bytes = 200, 1 << 22
    members, roots = {}, {}

    def split(path):
        archive, member = path, ''
        while not exists(archive):
            archive, name = split_path(archive)
            if not name:
                return None
            member = join(name, member) if member else name
        if not member or not is_file(archive):
            return None
        from zipfile import is_zipfile
        return (archive, member) if is_zipfile(archive) else None

    def text_of(archive, member):
        from zipfile import ZipFile
        key = archive, stat(archive).st_mtime_ns
        if key not in members:
            with ZipFile(archive) as opened:
                members[key] = {one.filename: one.file_size for one in opened.infolist()}
        size = members[key].get(member)
        if size is None or size > most_bytes:
            return None
        with ZipFile(archive) as opened:
            return opened.read(member)

    def folders(archive):
        here = split_path(archive)[0]
        for _ in range(3):
            yield here
            for name in sorted(listdir(here))[:most_folders]:
                if is_folder(join(here, name)):
                    yield join(here, name)
            above = split_path(here)[0]
            if above in (here, '/'):
                return
            here = above

    def source_of(archive, member):
        text = text_of(archive, member)
        if text is None:
            return None
        if archive not in roots:
            roots[archive] = list(folders(archive))
        for root in roots[archive]:
            file = join(root, member)
            if is_file(file) and stat(file).st_size == len(text):
                with open(file, 'rb') as opened:
                    if opened.read() == text:
                        roots[archive].remove(root)
                        roots[archive].insert(0, root)
                        return file
        return None

    def normalize(filename, func, isabs, normalize_case, os_path_exists=exists, join=join):
        if filename.startswith('<'):
            return filename
        path = func(filename)
        if not isabs and not os_path_exists(path) and not split(path):
            path = files._get_relative_filename_abs_path(filename, func)
        try:
            inside = None if os_path_exists(path) else split(path)
            path = inside and source_of(*inside) or path
        except (OSError, ValueError, RuntimeError, NotImplementedError):
            pass
        return files.normcase(path) if normalize_case else path

    def exists_anywhere(filename):
        if exists(filename):
            return True
        if not is_absolute(filename):
            filename = files._get_relative_filename_abs_path(filename, make_absolute)
            if exists(filename):
                return True
        try:
            inside = split(filename)
            return bool(inside) and text_of(*inside) is not None
        except (OSError, ValueError, RuntimeError, NotImplementedError):
            return False

    normalize.tandem = True
    files._apply_func_and_normalize_case = normalize
    files.exists = exists_anywhere
    files.NORM_PATHS_CONTAINER.clear()
    files.NORM_PATHS_AND_BASE_CONTAINER.clear()


tandem_archives()
