"""A proxy that holds every reply of a real server back until it has taken a fixed time per token.

On a GPU a token takes about as long for eight conversations as for one, because the weights are read once for all of them. On two cores
no server behaves like that. This proxy does: the replies are those of the server behind it, the pace is that of a GPU.

    python benches/peers/paced_server.py PORT http://127.0.0.1:8191 MILLISECONDS_PER_TOKEN
"""
import json
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        begun = time.monotonic()
        body = self.rfile.read(int(self.headers["content-length"]))
        request = urllib.request.Request(sys.argv[2] + self.path, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            reply = answer.read()
        tokens = json.loads(reply)["usage"]["completion_tokens"]
        time.sleep(max(0, begun + tokens * float(sys.argv[3]) / 1000 - time.monotonic()))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
