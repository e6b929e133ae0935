"""``python -m unirel.experiments [NAME]``: the same as ``unirel reproduce [NAME]``."""

import sys

from unirel.cli import main

sys.exit(main(["reproduce", *sys.argv[1:]]))
