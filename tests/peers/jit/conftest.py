"""What is read as two modules is no module of tests."""

collect_ignore = ["programs.py", "user_programs.py"]
