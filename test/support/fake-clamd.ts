import net from 'node:net';

/** A scanner whose replies are decided by the test. */
export interface FakeClamd {
  /** `tcp://…` */
  url: string;
  /** The files that it took, in their order. */
  files: Buffer[];
  /** Returns the reply to a file, without its end; null: none, ever. */
  verdict: (file: Buffer) => string | null;
  /** After how many bytes it refuses a file, as clamd does beyond StreamMaxLength. */
  maxBytes: number;
  close(): Promise<void>;
}

const LENGTH_BYTES = 4;

/** Reads the chunks of INSTREAM. @returns null until the last has arrived */
function fileIn(received: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = received.indexOf(0) + 1; at + LENGTH_BYTES <= received.length;) {
    const length = received.readUInt32BE(at);
    at += LENGTH_BYTES;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(received.subarray(at, at + length));
    at += length;
  }
  return null;
}

/** Starts a server that takes commands as ClamAV's clamd does. Every file is clean until the test decides otherwise. */
export async function startFakeClamd(port = 0): Promise<FakeClamd> {
  const sockets = new Set<net.Socket>();
  const fake: FakeClamd = {
    url: '',
    files: [],
    verdict: () => 'stream: OK',
    maxBytes: Infinity,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    let received = Buffer.alloc(0);
    let isOver = false;
    const answer = (reply: string | null) => {
      isOver = true;
      if (reply !== null) socket.end(`${reply}\0`);
    };
    socket.on('data', (piece) => {
      if (isOver) return;
      received = Buffer.concat([received, piece]);
      if (received.toString('latin1', 0, received.indexOf(0)) === 'zVERSION')
        return answer('ClamAV 0.0/1/now');
      if (received.length > fake.maxBytes) return answer('INSTREAM size limit exceeded. ERROR');
      const file = fileIn(received);
      if (file === null) return;
      fake.files.push(file);
      answer(fake.verdict(file));
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  fake.url = `tcp://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  return fake;
}
