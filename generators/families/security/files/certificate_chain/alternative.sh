cd @FOLDER@ && python3 - <<'PY'
import configparser, glob, os, secrets, ssl, subprocess, tempfile, time
def run(*call):
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout
work = tempfile.mkdtemp()
open(work + "/ca.cnf", "w").write('''@CNF@'''.replace("= index", f"= {work}/index")
                                  .replace("= new", f"= {work}").replace("= serial", f"= {work}/serial"))
open(work + "/index", "w")
start, end = "@START@", "@END@"
def seconds(day):
    return int(run("date", "-u", "-d", day, "+%s"))
keys = {run("openssl", "pkey", "-in", k, "-pubout"): k for k in glob.glob("ca/keys/*.key")}
config = configparser.ConfigParser()
config.read("service.ini")
os.umask(0o077)
for section in config.sections():
    if not section.startswith("site "):
        continue
    site = config[section]
    names = [site["name"], *site["aliases"].split()]
    stem = "tls/new-" + section.split()[1]
    run("openssl", "ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", stem + ".key")
    run("openssl", "req", "-new", "-key", stem + ".key", "-subj", "/CN=" + names[0], "-config", work + "/ca.cnf", "-out", work + "/csr")
    open(work + "/ext", "w").write("basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\nauthorityKeyIdentifier=keyid\nsubjectAltName="
                                   + ",".join("DNS:" + n for n in names) + ",IP:127.0.0.1\n")
    for issuer in sorted(glob.glob("ca/*.crt")):
        info = ssl._ssl._test_decode_cert(issuer)
        key = keys.get(run("openssl", "x509", "-in", issuer, "-noout", "-pubkey"))
        span = [ssl.cert_time_to_seconds(info[x]) for x in ("notBefore", "notAfter")]
        if not key or span[0] > seconds(start) or span[1] < seconds(end):
            continue
        open(work + "/serial", "w").write("71" + secrets.token_hex(7) + "\n")
        run("openssl", "ca", "-batch", "-notext", "-config", work + "/ca.cnf", "-cert", issuer, "-keyfile", key, "-in", work + "/csr",
            "-startdate", start.replace("-", "") + "000000Z", "-enddate", end.replace("-", "") + "000000Z", "-extfile", work + "/ext",
            "-out", stem + ".pem")
        check = ["openssl", "verify", "-attime", str(seconds(start) + 86400), "-CAfile", "@TRUST@/root.crt"]
        check += ["-untrusted", issuer, "-purpose", "sslserver", stem + ".pem"]
        good = subprocess.run(check, capture_output=True).returncode == 0
        if good:
            break
    serial = run("openssl", "x509", "-in", stem + ".pem", "-noout", "-serial").strip().split("=")[1]
    with open(stem + ".pem", "a") as out:
        out.write(open(issuer).read())
    os.chmod(stem + ".pem", 0o644)
    site["certificate"], site["key"] = stem + ".pem", stem + ".key"
    with open("@REGISTER@", "a") as out:
        out.write(f"{serial},{names[0]},{end}\n")
with open("service.ini", "w") as out:
    config.write(out)
PY
