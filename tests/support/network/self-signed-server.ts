import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** Valid until 2126, for an unused name: `openssl req -x509 -newkey ec -subj /CN=self-signed.example.com`. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgFYyKBtqEcuzr80CQ
swhyVoHOiQIqXvNA5RYtf789nE2hRANCAAR4JnhXcB81NlIZKEcGrrwslAdVdmYu
E6TEgpYgND4hRyp8jU6UTYXPtDhBjrIMJEsGhkheHmpWNyrCOHX8VZX1
-----END PRIVATE KEY-----`;
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUcVII78u9mNc9Ckd0jsQKeR/hNTowCgYIKoZIzj0EAwIw
IjEgMB4GA1UEAwwXc2VsZi1zaWduZWQuZXhhbXBsZS5jb20wIBcNMjYxMTIyMDYy
OTU1WhgPMjEyNjEwMjkwNjI5NTVaMCIxIDAeBgNVBAMMF3NlbGYtc2lnbmVkLmV4
YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeCZ4V3AfNTZSGShH
Bq68LJQHVXZmLhOkxIKWIDQ+IUcqfI1OlE2Fz7Q4QY6yDCRLBoZIXh5qVjcqwjh1
/FWV9aNTMFEwHQYDVR0OBBYEFEy2QZw9hjUj6oYYyAl224Uo1A1PMB8GA1UdIwQY
MBaAFEy2QZw9hjUj6oYYyAl224Uo1A1PMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDRwAwRAIgPa9ES7F+yxnbsxaJFHMaQ43NTDQvH4uqKjfTdWaT5AMCIFhL
xnObHraB6JRYzlU3L0gG50j1hbC1hLDt3zmgiPVE
-----END CERTIFICATE-----`;

/** A server that accepts TLS as PostgreSQL does, with a self-signed certificate, and sends nothing more. */
export async function startSelfSignedServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    // The first message asks for TLS; S accepts.
    socket.once('data', () => {
      socket.write('S');
      const tls = new TLSSocket(socket, { isServer: true, key: KEY, cert: CERTIFICATE });
      tls.on('error', () => undefined);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: new URL(`postgres://app@127.0.0.1:${address.port}/app`),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
