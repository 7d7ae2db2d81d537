# SPDX-License-Identifier: MIT
#
# A plugin of pytest: how the tests failed that were run a second time, see pytest.sh.


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"failed at first: {report.nodeid}")
        terminalreporter.line(report.longreprtext)
