import { openDatabase } from '../../src/platform/db/database.ts';
import { createExportWriter } from '../../src/features/exports/service.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';

/** A process for a test to kill: it writes the export given in its arguments in small parts. */
const [url = '', home = '', id = ''] = process.argv.slice(2);
const database = openDatabase({ url, poolMax: 2, applicationName: 'export writer' });
const writer = createExportWriter({
  pool: database.pool,
  store: createHomeStore(home),
  quotaBytes: 1e9,
  partBytes: 20_000,
});
const turn = { progress: () => undefined, stopping: new AbortController().signal };
await writer.begin(Number(id), new Date());
await writer.plan(Number(id), new Date(), turn);
await writer.write(Number(id), new Date(), turn);
await database.close();
