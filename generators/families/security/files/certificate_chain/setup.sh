set -e
cd /setup
make() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }
sign() { # subject key, subject, issuer, start, end, extensions, output
  openssl req -new -key $1.key -subj "$2" -out $1.csr -config ca.cnf
  openssl ca -batch -notext -config ca.cnf -in $1.csr -startdate $4 -enddate $5 -extfile $6 -out $7 $3 2> log || { cat log; exit 1; }
}
mkdir new; : > index; echo 5A01 > serial
printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n' > root.ext
make root; sign root "/O=@ORG@/CN=Root of @ORG@" "-selfsign -keyfile root.key" 20120101000000Z 20590101000000Z root.ext root.crt
while read -r id name start end permit cert key; do
  make $id
  { printf 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n'
    printf 'subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n'
    [ $permit = - ] || echo "nameConstraints=critical,permitted;DNS:$permit"; } > $id.ext
  sign $id "/O=@ORG@/CN=Issuing $name" "-cert root.crt -keyfile root.key" ${start}000000Z ${end}235959Z $id.ext @FOLDER@/ca/$cert.crt
  [ $key = - ] || cp $id.key @FOLDER@/ca/keys/$key.key
  cp @FOLDER@/ca/$cert.crt $id.crt
done < issuers
make leaf
printf 'basicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n' > leaf.ext
while read -r name file issuer wrong; do
  sign leaf "/O=@ORG@/CN=$name" "-cert $issuer.crt -keyfile $issuer.key" 20190301000000Z 20210228235959Z leaf.ext leaf.crt
  cat leaf.crt $wrong.crt > @FOLDER@/tls/$file.pem
done < sites
cp leaf.key @FOLDER@/tls/server.key
cp root.crt leaf.key @TRUST@/
mv @TRUST@/leaf.key @TRUST@/leaked.key
chmod 644 @TRUST@/*
useradd -m -u 1000 agent
chown -R agent @FOLDER@
chmod 644 @FOLDER@/tls/server.key
