"""The page of every rule."""

from collections.abc import Mapping
from types import MappingProxyType

from fencewright.checker.findings import amd, every_vendor, nvidia
from fencewright.checker.findings.finding import Rule
from fencewright.checker.findings.page import RulePage

_PAGES = {page.rule: page for page in (*every_vendor.PAGES, *amd.PAGES, *nvidia.PAGES)}

PAGES: Mapping[Rule, RulePage] = MappingProxyType({rule: _PAGES[rule] for rule in Rule})
"""In the order of the rules; each has one."""
