/**
 * A program that replaces a role in tests: it is ready at once, and ends on SIGTERM. The role named by FAKE_ROLE_FAILS
 * does not start, the one named by FAKE_ROLE_STUBBORN ignores SIGTERM, and the one named by FAKE_ROLE_SILENT ignores
 * SIGTERM and never becomes ready. The API listens on PORT, if set; with FAKE_API_STAYS, it stops only once that file
 * exists.
 */
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';

const role = process.argv.at(-1);
const { FAKE_ROLE_FAILS, FAKE_ROLE_STUBBORN, FAKE_ROLE_SILENT, FAKE_API_STAYS, PORT } = process.env;
if (FAKE_ROLE_FAILS === role) process.exit(3);
const stubborn = role === FAKE_ROLE_STUBBORN || role === FAKE_ROLE_SILENT;
function end(): void {
  if (stubborn) return;
  const stays = role === 'api' && FAKE_API_STAYS !== undefined && !existsSync(FAKE_API_STAYS);
  if (stays) setTimeout(end, 20);
  else process.exit(0);
}
process.on('SIGTERM', end);
process.on('disconnect', end);
if (role === 'api') createServer().listen(Number(PORT ?? 0), '127.0.0.1');
setInterval(() => undefined, 60_000);
if (role !== FAKE_ROLE_SILENT) process.send?.('ready');
