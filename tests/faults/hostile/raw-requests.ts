import type { Random } from '../../../simulation/random.ts';

type Request = { line: string; headers: string[]; body: string; separator: string };

const METHODS = [
  'GET',
  'POST',
  'TRACE',
  'CONNECT',
  'OPTIONS',
  'get',
  'PRI',
  'FETCH',
  'PUT',
  'G\0T',
];
const TARGETS = [
  ...['/api/user', '/api/stripe/webhook', '/', '*', '//', '/api/../api/user', '/%00', '/%zz'],
  ...['http://elsewhere.example/api/user', 'http://[', 'elsewhere.example:443', '/api/user?%', ''],
];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/9', 'HTPP/1.1', ''];
const LENGTHS = ['-1', '0', '1', '5', '1e3', '99999999999999999999', '2, 2', ' 2', '0x2', '+2', ''];
const ENCODINGS = ['chunked', 'xchunked', 'chunked, identity', 'gzip', ' chunked', 'CHUNKED', ''];
const CHUNKS = [
  ...[
    '0\r\n\r\n',
    '2\r\n{}\r\n0\r\n\r\n',
    'zz\r\n{}\r\n',
    '-2\r\n{}\r\n0\r\n\r\n',
    '5\r\n{}\r\n0\r\n',
  ],
  ...[
    'ffffffffffffffff\r\n{}',
    '2;a=b\r\n{}\r\n0\r\nX: y\r\n\r\n',
    '2\n{}\n0\n\n',
    '00000002\r\n{}',
  ],
];
const SMUGGLED = 'GET /api/user HTTP/1.1\r\nHost: smuggled\r\n\r\n';

type Mutation = (request: Request, random: Random) => void;

const MUTATIONS: readonly Mutation[] = [
  (request, random) => {
    const parts = [random.pick(METHODS), random.pick(TARGETS), random.pick(VERSIONS)];
    request.line = parts.join(random.pick([' ', ' ', '  ', '\t']));
  },
  ({ headers }, random) => headers.push(`Content-Length: ${random.pick(LENGTHS)}`),
  ({ headers }, random) => headers.push(`Transfer-Encoding: ${random.pick(ENCODINGS)}`),
  (request, random) => {
    request.headers.push('Transfer-Encoding: chunked');
    request.body = random.pick(CHUNKS);
  },
  ({ headers }, random) => headers.push(`Host: ${random.pick(['x', 'y', '', 'a b', '[::', '@'])}`),
  (request) => {
    request.headers = request.headers.filter((header) => !header.startsWith('Host'));
  },
  ({ headers }, random) => headers.push(`X-Long: ${'a'.repeat(random.below(40_000))}`),
  ({ headers }, random) => {
    for (let count = random.below(3_000); count > 0; count -= 1) headers.push(`X-${count}: y`);
  },
  ({ headers }, random) =>
    headers.push(random.pick([' folded', 'No colon', 'Space : x', ': nameless', '\0: x', 'é: ü'])),
  ({ headers }, random) =>
    headers.push(
      random.pick(['Expect: 100-continue', 'Expect: x', 'Upgrade: h2c', 'Trailer: Host']),
    ),
  (request, random) => {
    request.separator = random.pick(['\n', '\r', '\r\n\r\n', '\r\r\n']);
  },
  (request) => {
    request.body += SMUGGLED;
  },
  (request, random) => {
    request.body += '{"a":'.repeat(random.below(200));
  },
];

/** A request that is malformed in one to three ways, sometimes with a few bytes changed. */
export function makeRawRequest(random: Random): Buffer {
  const request: Request = {
    line: random.pick(['GET /api/user HTTP/1.1', 'POST /api/stripe/webhook HTTP/1.1']),
    headers: ['Host: x', 'Connection: close'],
    body: random.pick(['', '{}']),
    separator: '\r\n',
  };
  for (let left = 1 + random.below(3); left > 0; left -= 1) random.pick(MUTATIONS)(request, random);
  const head = [request.line, ...request.headers, '', ''].join(request.separator);
  const bytes = Buffer.from(head + request.body, 'latin1');
  if (random.chance(0.3)) {
    for (let left = random.below(5); left > 0; left -= 1) {
      bytes[random.below(bytes.length)] = random.below(256);
    }
  }
  return random.chance(0.2) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}
