"""What stands in the story's repository: its policy, as it changes, its verify command, its second ticket."""

from app.drill.proofs_of_landing import CI

SECOND_TITLE = "Press the cider"
SECOND_BODY = "- [ ] Wash the press\n- [ ] Press the apples\n"
SECOND_WORK = {"work/step-cider.txt": "Wash the press\nfinished\n"}
LATE_WORK = {"work/step-late.txt": "Sweep the yard\nfinished\n"}
POLICY_TEXT = """\
version: 1
mode: repair
trunks: ["release-*"]
release:
  into: main
verify:
  - ["python3", "tools/check.py"]
"""
ENROLS = """\
enroll:
  branch: true
"""
LANDS = f"""\
landing:
  checks: [{CI}]
"""
CHECK_PROGRAM = '''\
"""Every step's file must be whole: a step that was cut off in the middle is no work to build on."""

import pathlib
import sys

torn = [p.name for p in pathlib.Path("work").glob("step-*.txt") if not p.read_text().endswith("finished\\n")]
print(f"torn: {torn}" if torn else "every step is whole")
sys.exit(1 if torn else 0)
'''
