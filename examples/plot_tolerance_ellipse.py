"""
Tolerance ellipse: two columns of a blood panel
===============================================

Each ellipse should contain 99 % of the rows. A few wrong rows stretch the classical ellipse, which
contains some of them; the robust ellipse follows the good rows. Flagged rows inside the ellipse are
wrong in a column that is not shown. The panel is synthetic.
"""

import matplotlib.pyplot as plt
import pandas as pd

from eosparse import EOSDetector
from eosparse.datasets import load_blood_panel
from eosparse.plots import ToleranceEllipseDisplay

panel = load_blood_panel()
table = pd.DataFrame(panel.X, columns=panel.feature_names)
detector = EOSDetector().fit(table)

ToleranceEllipseDisplay.from_estimator(detector, table, ("haemoglobin_g_dl", "haematocrit_pct"))
plt.show()
