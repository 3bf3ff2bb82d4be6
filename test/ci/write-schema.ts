/** `npm run schema`: writes docs/schema.sql, the tables and functions that the migrations make. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeSchema, SCHEMA_FILE } from './schema.ts';

writeFileSync(join(import.meta.dirname, '../..', SCHEMA_FILE), await composeSchema());
process.stdout.write(`${SCHEMA_FILE}\n`);
