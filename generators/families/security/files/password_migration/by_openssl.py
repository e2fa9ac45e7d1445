def kdf(w, salt, *options):
    *pairs, name = options
    call = ["openssl", "kdf", "-keylen", "32", "-binary", "-kdfopt", "hexpass:" + w.hex(), "-kdfopt", "hexsalt:" + salt.hex()]
    for pair in pairs:
        call += ["-kdfopt", pair]
    return subprocess.run([*call, name], check=True, capture_output=True).stdout
def pbkdf2(w, salt):
    return kdf(w, salt, "digest:SHA256", "iter:" + K["iterations"], "PBKDF2")
def scrypt(w, salt):
    return kdf(w, salt, "n:1024", "r:8", "p:1", "SCRYPT")
