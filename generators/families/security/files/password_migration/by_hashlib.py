def pbkdf2(w, salt):
    return hashlib.pbkdf2_hmac("sha256", w, salt, int(K["iterations"]), 32)
def scrypt(w, salt):
    return hashlib.scrypt(w, salt=salt, n=1024, r=8, p=1, dklen=32)
