import { readFileSync } from 'node:fs';

function read(name: string): Buffer {
  return readFileSync(new URL(`./tls/${name}`, import.meta.url));
}

/** The authority that signed the other two. */
export const authority = read('ca.pem');
/** For `localhost` and 127.0.0.1. */
export const serverCertificate = { key: read('server.key'), cert: read('server.pem') };
/** For `other.example`. */
export const otherCertificate = { key: read('other-name.key'), cert: read('other-name.pem') };
