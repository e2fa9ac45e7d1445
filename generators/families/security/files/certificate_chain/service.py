import configparser
import os
import socketserver
import ssl
import threading

os.chdir(os.path.dirname(os.path.abspath(__file__)))
config = configparser.ConfigParser()
config.read("service.ini")
contexts = {}
for section in config.sections():
    if section.startswith("site "):
        site = config[section]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(site["certificate"], site["key"])
        for name in [site["name"], *site.get("aliases", "").split()]:
            contexts[name] = context
first = next(iter(contexts.values()))


def choose(sock, name, context):
    sock.context = contexts.get(name, first)


first.sni_callback = choose


class Web(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        text = config["service"]["banner"].encode() + b"\n"
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)


class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        word = self.rfile.readline().strip().decode("ascii", "replace")
        self.wfile.write(("OK " + word[:40] + "\n").encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def get_request(self):
        sock, peer = super().get_request()
        sock.settimeout(5)
        return first.wrap_socket(sock, server_side=True), peer


port = int(config["service"]["port"])
threading.Thread(target=Server(("127.0.0.1", port + 1), Lines).serve_forever, daemon=True).start()
Server(("127.0.0.1", port), Web).serve_forever()
