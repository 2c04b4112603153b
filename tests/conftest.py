import sys
from pathlib import Path

import hypothesis

sys.path.insert(0, str(Path(__file__).parent))

# The same examples every time: a failure is there again for whoever looks for it. Others are sought by `make soak`.
hypothesis.settings.register_profile("unrelu", derandomize=True, deadline=None)
hypothesis.settings.load_profile("unrelu")
