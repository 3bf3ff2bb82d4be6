/**
 * Stands in for a role: ready at once, ends when asked. The role named by FAKE_ROLE_FAILS does not start, that of
 * FAKE_ROLE_STUBBORN does not end when asked, and that of FAKE_ROLE_SILENT neither ends nor is ever ready.
 */
const role = process.argv.at(-1);
const { FAKE_ROLE_FAILS, FAKE_ROLE_STUBBORN, FAKE_ROLE_SILENT } = process.env;
if (FAKE_ROLE_FAILS === role) process.exit(3);
const stubborn = role === FAKE_ROLE_STUBBORN || role === FAKE_ROLE_SILENT;
process.on('SIGTERM', () => stubborn || process.exit(0));
process.on('disconnect', () => stubborn || process.exit(0));
setInterval(() => undefined, 60_000);
if (role !== FAKE_ROLE_SILENT) process.send?.('ready');
