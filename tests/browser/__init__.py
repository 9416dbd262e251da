"""The report in a real browser: Chromium of the machine, driven by Playwright. `make test-browser` runs it."""
