python3 - <<'PY'
text = open(@MODULE@).read()
for old, new in @FIXES@:
    assert old in text
    text = text.replace(old, new)
open(@MODULE@, 'w').write(text)
PY
