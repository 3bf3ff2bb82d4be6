import { registerProcess } from '../../src/platform/processes/process.ts';

/**
 * A process for a test to kill, stop or block. It prints its id in `processes`, and later ids if it gets others. On
 * SIGUSR2, it blocks its event loop for the number of milliseconds given in the second argument.
 */
const [url = '', blockedMs = '0'] = process.argv.slice(2);
process.on('SIGUSR2', () => {
  process.stdout.write('blocked\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(blockedMs));
  process.stdout.write('runs\n');
});
const live = await registerProcess({ url }, 'sender', []);
let known: number | null = null;
setInterval(() => {
  const id = live.id();
  if (id !== known) process.stdout.write(`id ${id}\n`);
  known = id;
}, 20);
