/**
 * A program that replaces a role in tests: it is ready at once, and ends on SIGTERM. The role named by FAKE_ROLE_FAILS
 * does not start, the one named by FAKE_ROLE_STUBBORN ignores SIGTERM, and the one named by FAKE_ROLE_SILENT ignores
 * SIGTERM and never becomes ready.
 */
const role = process.argv.at(-1);
const { FAKE_ROLE_FAILS, FAKE_ROLE_STUBBORN, FAKE_ROLE_SILENT } = process.env;
if (FAKE_ROLE_FAILS === role) process.exit(3);
const stubborn = role === FAKE_ROLE_STUBBORN || role === FAKE_ROLE_SILENT;
process.on('SIGTERM', () => stubborn || process.exit(0));
process.on('disconnect', () => stubborn || process.exit(0));
setInterval(() => undefined, 60_000);
if (role !== FAKE_ROLE_SILENT) process.send?.('ready');
