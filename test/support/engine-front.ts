import http2, { type ClientHttp2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { testCa, testIdentity } from './https-receiver.ts';

/** Returns the path of a certificate or key in `tls/`. */
export function tlsFile(name: string): string {
  return fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));
}

/** A gRPC call that the proxy received. */
interface FrontCall {
  /** `/service/method`. */
  path: string;
  headers: IncomingHttpHeaders;
}

/** A TLS proxy in front of an engine, like that of a cluster or of Temporal Cloud. */
export interface EngineFront {
  address: string;
  /** The number of connections so far, including rejected ones. */
  connections: number;
  calls: FrontCall[];
  /** The common names of the clients' certificates. */
  clients: string[];
  close(): Promise<void>;
}

export interface EngineFrontOptions {
  /** If true, rejects clients without a certificate of the test CA. */
  clientCertificates?: boolean;
  /** If set, rejects calls without this `authorization`, as Temporal does. */
  authorization?: string;
}

const UNAUTHENTICATED = '16';
const { HTTP2_HEADER_AUTHORIZATION, HTTP2_HEADER_PATH, NGHTTP2_CANCEL } = http2.constants;

/** Forwards a call to the engine unchanged, and the response with its trailers back. */
function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, engine: ClientHttp2Session): void {
  const call = engine.request({ ...headers, ':scheme': 'http' });
  let trailers: http2.OutgoingHttpHeaders = {};
  call.on('response', (answer, flags) => {
    const endStream = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (!stream.closed) stream.respond(answer, endStream ? { endStream } : { waitForTrailers: true });
  });
  call.on('trailers', (sent) => (trailers = sent));
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => call.close(NGHTTP2_CANCEL));
  call.on('error', () => stream.close(NGHTTP2_CANCEL));
  stream.on('error', () => call.close(NGHTTP2_CANCEL));
  stream.pipe(call).pipe(stream);
}

function reject(stream: ServerHttp2Stream): void {
  const grpc = { 'grpc-status': UNAUTHENTICATED, 'grpc-message': 'Request unauthorized.' };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...grpc }, { endStream: true });
}

/**
 * Starts the proxy on a free port of 127.0.0.1, with the certificate of the test receivers.
 * @param target the engine's address
 */
export async function startEngineFront(
  target: string,
  options: EngineFrontOptions = {},
): Promise<EngineFront> {
  const engine = http2.connect(`http://${target}`);
  const sessions = new Set<http2.ServerHttp2Session>();
  const [calls, clients]: [FrontCall[], string[]] = [[], []];
  const mutual = options.clientCertificates ? { requestCert: true, ca: testCa } : {};
  const server = http2.createSecureServer({ ...testIdentity, ...mutual });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('secureConnection', (socket) => {
    const { subject } = socket.getPeerCertificate() as Partial<PeerCertificate>;
    if (subject) clients.push(String(subject.CN));
  });
  server.on('stream', (stream, headers) => {
    calls.push({ path: String(headers[HTTP2_HEADER_PATH]), headers });
    const { authorization } = options;
    if (authorization !== undefined && headers[HTTP2_HEADER_AUTHORIZATION] !== authorization) {
      reject(stream);
    } else {
      forward(stream, headers, engine);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: EngineFront = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: 0,
    calls,
    clients,
    async close() {
      for (const session of sessions) session.destroy();
      engine.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('connection', () => (front.connections += 1));
  return front;
}
