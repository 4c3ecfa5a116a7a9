from assay.notebook import compare as compare
from assay.notebook import load as load

__version__: str
