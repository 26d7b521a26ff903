"""A small shop on a bad day: twelve conversations, three agents, one of them degrading gracefully.

Run it with `python -m examples.customer_service`. The shop (`shop`), its faults (`faults`, `server`) and the customers
(`conversations`) are the same for all three agents (`agents`); what the customers were told is judged against the
shop's own database (`judge`).
"""
