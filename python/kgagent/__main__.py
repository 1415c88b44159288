"""`python -m kgagent` is the command line `kgagent`."""

from . import _main

_main()
