/** Stands in for a role: ready at once, ends when asked. With FAKE_ROLE_FAILS it does not start. */
if (process.env.FAKE_ROLE_FAILS === process.argv.at(-1)) process.exit(3);
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
setInterval(() => undefined, 60_000);
process.send?.('ready');
