cd @REPO@
tree=$(mktemp -d)
git worktree add -q --detach "$tree/w" main
cat > "$tree/check.py" <<'PY'
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.getcwd())
try:
    from @READ@ import read
    from @CHARGE@ import charge, percent
    from @RATES@ import BLOCK, CAP, FREE, RATES
    import @REPORT@
except SyntaxError:
    sys.exit(125)
sys.exit(0 if @CHECK@ else 1)
PY
cd "$tree/w"
git bisect start main @TAG@ > /dev/null
git bisect run python3 "$tree/check.py" > /dev/null 2>&1
git rev-parse refs/bisect/bad > @ANSWER@
git bisect reset > /dev/null 2>&1
cd @REPO@
git worktree remove --force "$tree/w"
rm -rf "$tree"
