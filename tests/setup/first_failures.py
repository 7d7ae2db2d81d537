# SPDX-License-Identifier: MIT
#
# A pytest plugin that prints the first failure of each test that was run a second time (see
# pytest.sh).


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"failed at first: {report.nodeid}")
        terminalreporter.line(report.longreprtext)
