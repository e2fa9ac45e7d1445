"""What tests may import. Loaded before any of their code runs: inside a sandbox nothing can be imported any more."""

from __future__ import annotations

import importlib
import pkgutil

TEST_MODULES = """
argparse array ast asyncio base64 binascii bisect bz2 calendar cmath codecs collections collections.abc colorsys
concurrent.futures concurrent.futures.process concurrent.futures.thread
configparser contextlib copy csv ctypes dataclasses datetime decimal difflib email email.message
email.mime.multipart email.mime.text email.parser email.policy enum errno fcntl filecmp fnmatch fractions ftplib functools
getpass glob grp gzip hashlib heapq hmac html html.parser http http.client http.cookies http.server imaplib inspect io
ipaddress itertools json locale logging lzma mailbox math mimetypes mmap multiprocessing netrc numbers operator os os.path
pathlib pickle platform plistlib poplib posixpath pprint pty pwd queue random re resource sched secrets select selectors
shlex shutil signal smtplib socket socketserver sqlite3 ssl stat statistics string struct subprocess sys tarfile tempfile
termios textwrap threading time timeit tokenize tomllib traceback tty types typing unicodedata urllib urllib.error
urllib.parse urllib.request uuid wave weakref xml xml.dom.minidom xml.etree.ElementTree xmlrpc.client zipfile zlib zoneinfo
_strptime pytest
""".split()  # noqa: SIM905


def preload() -> None:
    """Import all that tests may use, and every codec, so that nothing is looked up inside a sandbox."""
    encodings = importlib.import_module("encodings")
    names = [f"encodings.{entry.name}" for entry in pkgutil.iter_modules(encodings.__path__)]
    for name in [*TEST_MODULES, *(name for name in names if not name.endswith(("mbcs", "oem")))]:
        importlib.import_module(name)
    " ".encode("idna")
    compile("x = 1", "warm-up", "exec")
