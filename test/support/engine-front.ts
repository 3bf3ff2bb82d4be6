import http2, { type ClientHttp2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { testCa, testIdentity } from './https-receiver.ts';

/** @returns the path of a file in `tls/` */
export function tlsFile(name: string): string {
  return fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));
}

/** A call as it came through, as `/service/method`. */
export interface FrontCall {
  path: string;
  headers: IncomingHttpHeaders;
}

/** TLS in front of an engine, as a cluster's proxy or Temporal Cloud has it. */
export interface EngineFront {
  address: string;
  /** Connections made so far, whatever became of them. */
  connections: number;
  calls: FrontCall[];
  /** Subjects of the clients' certificates. */
  clients: string[];
  close(): Promise<void>;
}

export interface EngineFrontOptions {
  /** Lets in only who shows a certificate that the test CA signed. */
  clientCertificates?: boolean;
  /** Answers a call that has no `authorization` of this value as Temporal does. */
  authorization?: string;
}

const UNAUTHENTICATED = '16';
const { HTTP2_HEADER_AUTHORIZATION, HTTP2_HEADER_PATH, NGHTTP2_CANCEL } = http2.constants;

/** Pass a call on to the engine as it is, and its answer back, trailers and all. */
function passOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, engine: ClientHttp2Session): void {
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

function refuse(stream: ServerHttp2Stream): void {
  const grpc = { 'grpc-status': UNAUTHENTICATED, 'grpc-message': 'Request unauthorized.' };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...grpc }, { endStream: true });
}

/**
 * Listen on a free port of 127.0.0.1 with the certificate of our receivers, for clients that speak HTTP/2.
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
      refuse(stream);
    } else {
      passOn(stream, headers, engine);
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
