import csv, re, unicodedata
CYRILLIC = dict(zip("абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "a b v g d e yo zh z i i k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya".split()))
GREEK = dict(zip("αβγδεζηθικλμνξοπρστυφχψως", "a v g d e z i th i k l m n x o p r s t y f ch ps o s".split()))
def plain(text):
    text = unicodedata.normalize("NFKD", text.replace("й", "i").replace("Й", "i").lower()) if TRANSLATE else text.lower()
    text = "".join(c for c in text if not unicodedata.combining(c))
    text = text.replace("ου", "ou").replace("ø", "o").replace("γγ", "ng")
    text = "".join(CYRILLIC.get(c, GREEK.get(c, c)) for c in text) if TRANSLATE else text
    return re.sub("[^a-z ]", "", text.replace("0", "o").replace("1", "l").replace("-", " "))
SHORT = dict(x.split("/") for x in "bill/william bob/robert liz/elizabeth peggy/margaret kitty/katherine dick/richard "
    "hans/johannes paco/francisco beppe/giuseppe chuck/charles dolly/dorothy ned/edmund sasha/aleksandr mitya/dmitri "
    "katya/yekaterina kolya/nikolai tanya/tatyana vova/vladimir misha/mikhail lana/svetlana mila/lyudmila "
    "kostas/konstantinos lena/eleni mimi/dimitra thanos/athanasios vaso/vasiliki takis/panagiotis".split())
left = list(csv.DictReader(open("@LEFT@", encoding="utf-8")))
right = list(csv.DictReader(open("@RIGHT@", encoding="utf-8")))
def digits(text):
    return re.sub("[^0-9]", "", text)[-8:]
