"""Write every file that is made from the code into this clone: `python -m bench.reference`."""

from bench.reference.files import FILES
from bench.tools import ROOT

for path, make in FILES.items():
    (ROOT / path).write_bytes(make())
