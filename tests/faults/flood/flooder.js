// A process that floods a server with requests, so that the requests of others don't share a thread with it: each
// connection sends its request again after every answer, and is opened again when the server closes it. Plain
// JavaScript, because Node 20 runs no TypeScript. The first message starts the flood, and any other asks for the number
// of answers by status.
import { connect } from 'node:net';

const REOPEN_AFTER_MS = 10;
const STATUS_LINE = 'HTTP/1.1 200 '.length;
const answered = {};

function open(address, text) {
  const socket = connect({ ...address, noDelay: true });
  socket.setEncoding('latin1').write(text, 'latin1');
  let rest = '';
  socket.on('data', (piece) => {
    const received = rest + piece;
    for (const [, status] of received.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      answered[status] = (answered[status] ?? 0) + 1;
      socket.write(text, 'latin1');
    }
    // A status line can arrive in two chunks.
    rest = received.slice(-(STATUS_LINE - 1)).replace(/^.*HTTP\/1\.1 \d{3} /s, '');
  });
  // The server is expected to close it.
  socket.on('error', () => socket.destroy());
  socket.once('close', () => setTimeout(open, REOPEN_AFTER_MS, address, text));
}

process.once('message', ({ url, texts, connections }) => {
  const { hostname: host, port } = new URL(url);
  for (let number = 0; number < connections; number += 1) {
    open({ host, port: Number(port) }, texts[number % texts.length]);
  }
  process.on('message', () => process.send(answered));
});
process.on('disconnect', () => process.exit());
