"""The plan of a region's call, whichever way it runs."""

from target_arch.plan.regions.channels import Channels
from target_arch.plan.regions.patches import Patches
from target_arch.plan.regions.stripes import Stripes

RegionPlan = Stripes | Patches | Channels
