import json, os, subprocess
plan = json.loads(bytes.fromhex(open("/setup/plan").read()))
for key in plan["makers"]:
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "/setup/" + key], check=True)
for key in plan["public"]:
    subprocess.run(["openssl", "ec", "-in", "/setup/" + key, "-pubout", "-out", plan["ring"] + "/" + key + ".pem"],
                   check=True, capture_output=True)
for key, source, place in plan["sign"]:
    if source != place:
        text = open(place, "rb").read()
        with open(source, "wb") as out:
            out.write(text[1:] + b"#\n")
    subprocess.run(["openssl", "dgst", "-sha256", "-sign", "/setup/" + key, "-out", place + ".sig", source], check=True)
