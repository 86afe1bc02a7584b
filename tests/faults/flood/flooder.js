// A process that floods a server with connections, so that the requests of others don't share a
// thread with it. Plain JavaScript, because Node 20 runs no TypeScript.
import { connect } from 'node:net';

const STATUS_LINE = 'HTTP/1.1 200 '.length;

/** Connections that are open or being opened. */
const sockets = new Set();
const answered = {};
let ended = 0;
/** How often all connections were closed. */
let closings = 0;
/** Whether sending again has stopped. */
let isQuiet = false;

/** Resolves when the connection is open or refused. */
function openOne(options, text) {
  const { host, port, again, reopenAfterMs } = options;
  const closingsBefore = closings;
  const isWanted = () => closings === closingsBefore;
  const socket = connect({ host, port, noDelay: true });
  sockets.add(socket);
  socket.setEncoding('latin1');
  socket.write(text, 'latin1');
  const timer =
    typeof again === 'number' ? setInterval(() => isQuiet || socket.write(text), again) : undefined;
  let rest = '';
  socket.on('data', (piece) => {
    const received = rest + piece;
    for (const [, status] of received.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      answered[status] = (answered[status] ?? 0) + 1;
      if (again === 'answered' && !isQuiet) socket.write(text, 'latin1');
    }
    // A status line can arrive in two chunks.
    rest = received.slice(-(STATUS_LINE - 1)).replace(/^.*HTTP\/1\.1 \d{3} /s, '');
  });
  // The server is expected to close it.
  socket.on('error', () => socket.destroy());
  return new Promise((settled) => {
    socket.once('connect', settled);
    socket.once('close', () => {
      clearInterval(timer);
      sockets.delete(socket);
      settled();
      if (!isWanted()) return;
      ended += 1;
      if (reopenAfterMs === undefined) return;
      setTimeout(() => isWanted() && openOne(options, text), reopenAfterMs);
    });
  });
}

const state = () => ({ open: sockets.size, ended, answered });

const commands = {
  state,
  async open(options) {
    let next = 0;
    const lane = async () => {
      while (next < options.count) {
        const text = options.texts[next % options.texts.length];
        next += 1;
        await openOne(options, text);
      }
    };
    await Promise.all(Array.from({ length: options.atOnce }, lane));
    return state();
  },
  quiet() {
    isQuiet = true;
    return state();
  },
  close() {
    closings += 1;
    for (const socket of sockets) socket.resetAndDestroy();
    return state();
  },
};

process.on('message', async ({ number, command, options }) => {
  process.send({ number, result: await commands[command](options) });
});
process.on('disconnect', () => process.exit());
