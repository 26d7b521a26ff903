"""What every test has: real servers on demand, and the state of the contract at the end."""

pytest_plugins = ("tests.contract", "tests.services")
