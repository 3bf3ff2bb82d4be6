/** An SMTP server in a thread, which keeps nothing of a message: the memory of its test's thread is the client's. */
import net, { type AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

export interface SinkThread {
  readonly port: number;
  close(): Promise<unknown>;
}

/** Starts the server. Its reply to the final dot has the number of bytes that came after DATA. */
export async function startSinkThread(): Promise<SinkThread> {
  const worker = new Worker(new URL(import.meta.url));
  const port = await new Promise<number>((resolve, reject) =>
    worker.once('message', resolve).once('error', reject),
  );
  return { port, close: () => worker.terminate() };
}

function serve(socket: net.Socket): void {
  let bytes = -1;
  let end = '';
  socket.write('220 sink.invalid ESMTP\r\n');
  socket
    .on('error', () => undefined)
    .on('data', (chunk) => {
      if (bytes === -1) {
        const commands = chunk.toString('latin1').split('\r\n').slice(0, -1);
        if (commands.at(-1) === 'DATA') bytes = 0;
        socket.write(
          commands.map((command) => (command === 'DATA' ? '354 Go on\r\n' : '250 Ok\r\n')).join(''),
        );
        return;
      }
      bytes += chunk.length;
      end = (end + chunk.toString('latin1', Math.max(0, chunk.length - 5))).slice(-5);
      if (end !== '\r\n.\r\n') return;
      socket.write(`250 ${bytes}\r\n`);
      bytes = -1;
    });
}

if (!isMainThread && parentPort) {
  const server = net.createServer(serve);
  server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
}
