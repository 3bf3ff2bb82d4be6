import net from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { type EngineSettings, grpcErrorOf, openEngine } from './connection.ts';
import { engineTls, type EngineTls } from './tls.ts';

const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;
const DEFAULT_PORT = 7233;
const PROBE_MS = 3_000;

/** OpenSSL's codes for a certificate whose signer is not trusted. */
const unknownSigner = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);
const noTls = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']);

const alert = /^ERR_SSL_.*ALERT/;

const EMPTY_SETTINGS_FRAME = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** The first bytes of an HTTP/2 client, which every server answers (RFC 9113, 3.4). */
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), EMPTY_SETTINGS_FRAME]);

/** The result of a TLS connection. `closed`: the peer closed it after a complete handshake, without sending data. */
type Probe = { outcome: 'answered' } | { outcome: 'closed' } | { outcome: 'failed'; code: string };

function addressOf(config: EngineSettings): { host: string; port: number } {
  const { hostname, port } = new URL(`tcp://${config.TEMPORAL_ADDRESS}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || DEFAULT_PORT) };
}

function connect(config: EngineSettings, files: EngineTls | null, signal: AbortSignal): TLSSocket {
  const { host, port } = addressOf(config);
  const { certificate: cert, key } = files?.client ?? {};
  return tls.connect({
    socket: net.connect({ host, port, signal }),
    host,
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
    ...(files?.ca ? { ca: files.ca } : {}),
    ...(cert && key ? { cert, key } : {}),
    ALPNProtocols: ['h2'],
    rejectUnauthorized: files !== null,
  });
}

/** Connects as the libraries do, and waits for the first data: servers judge a client certificate after the handshake. */
function probe(config: EngineSettings, files: EngineTls | null, signal: AbortSignal): Promise<Probe> {
  const socket = connect(config, files, signal);
  let handshakeDone = false;
  return new Promise<Probe>((done) => {
    const fail = (code = '') =>
      done(
        handshakeDone && (code === '' || code === 'ECONNRESET')
          ? { outcome: 'closed' }
          : { outcome: 'failed', code },
      );
    socket.once('secureConnect', () => {
      handshakeDone = true;
      socket.write(PREFACE);
    });
    socket.once('data', () => done({ outcome: 'answered' }));
    socket.setTimeout(PROBE_MS, () => done({ outcome: 'failed', code: 'ETIMEDOUT' }));
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code));
    socket.once('close', () => fail());
  }).finally(() => socket.destroy());
}

function refusedClient(config: EngineSettings): string {
  return config.TEMPORAL_TLS_CERT_FILE
    ? `it refuses the client certificate in ${config.TEMPORAL_TLS_CERT_FILE}: set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE to one that it accepts`
    : 'it requires a client certificate: set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE';
}

function closedOnClient(config: EngineSettings): string {
  const used = config.TEMPORAL_TLS_CERT_FILE
    ? `the client certificate in ${config.TEMPORAL_TLS_CERT_FILE}`
    : 'no client certificate';
  return `it closes a connection with ${used}: set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE to a certificate that it accepts`;
}

function explainTls(config: EngineSettings, found: Probe): string | null {
  if (found.outcome === 'answered') return null;
  if (found.outcome === 'closed') return closedOnClient(config);
  const { code } = found;
  if (unknownSigner.has(code)) {
    return config.TEMPORAL_TLS_CA_FILE
      ? `its certificate is not signed by an authority in ${config.TEMPORAL_TLS_CA_FILE}: set TEMPORAL_TLS_CA_FILE to the certificate of the authority that signed it`
      : 'its certificate is not signed by a public authority: set TEMPORAL_TLS_CA_FILE to the certificate of the authority that signed it';
  }
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired: renew it';
  if (code === 'CERT_NOT_YET_VALID')
    return 'its certificate is not valid yet: check the clocks of both machines';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is not for ${addressOf(config).host}: set TEMPORAL_ADDRESS to a name in the certificate`;
  }
  if (noTls.has(code)) {
    return 'it does not speak TLS on that port: set TEMPORAL_ADDRESS to its TLS port, or remove TEMPORAL_TLS, TEMPORAL_TLS_…_FILE and TEMPORAL_API_KEY';
  }
  return alert.test(code) ? refusedClient(config) : null;
}

function explainCode(config: EngineSettings, code: number | undefined): string | null {
  if (code === NOT_FOUND) {
    return `it has no namespace ${config.TEMPORAL_NAMESPACE}: create it, or set TEMPORAL_NAMESPACE to an existing one`;
  }
  if (code !== UNAUTHENTICATED && code !== PERMISSION_DENIED) return null;
  const namespace = `namespace ${config.TEMPORAL_NAMESPACE}`;
  return config.TEMPORAL_API_KEY
    ? `it refuses the API key for ${namespace}: set TEMPORAL_API_KEY to a valid one`
    : `it denies access to ${namespace}: set TEMPORAL_API_KEY, or set TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE to a client certificate`;
}

async function codeOfCall(config: EngineSettings, signal: AbortSignal): Promise<number | undefined> {
  const { client, namespace, close } = openEngine(config);
  const { connection } = client;
  try {
    await connection.withAbortSignal(signal, () =>
      connection.withDeadline(Date.now() + PROBE_MS, () =>
        connection.workflowService.describeNamespace({ namespace }),
      ),
    );
    return 0;
  } catch (error) {
    return grpcErrorOf(error)?.code;
  } finally {
    await close();
  }
}

/**
 * Explains why the engine cannot be used, if someone must change its settings or ours. Connects once more, for a few
 * seconds at most.
 * @returns one line with what to do; null if the engine answers, or is unavailable and may come back by itself
 */
export async function explainEngine(config: EngineSettings, signal: AbortSignal): Promise<string | null> {
  const files = engineTls(config);
  const code = await codeOfCall(config, signal);
  if (code === 0) return null;
  const refused = explainCode(config, code);
  if (refused) return refused;
  const found = await probe(config, files, signal);
  if (files) return explainTls(config, found);
  const speaksTls = found.outcome !== 'failed' || alert.test(found.code);
  return speaksTls
    ? 'it speaks TLS: set TEMPORAL_TLS=true, and TEMPORAL_TLS_CA_FILE if your own authority signed its certificate'
    : null;
}
