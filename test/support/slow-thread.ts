/** A thread of the prepare pool that takes 300 ms longer for each content, without using the processor. */
import { parentPort } from 'node:worker_threads';

const never = new Int32Array(new SharedArrayBuffer(4));
parentPort?.on('message', () => void Atomics.wait(never, 0, 0, 300));
await import('../../src/delivery/content/mime/prepare-thread.ts');
