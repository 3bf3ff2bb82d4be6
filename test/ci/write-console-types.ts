/** `npm run console:types`: writes the types of the API for the console. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeTypes, TYPES_FILE } from './console-types.ts';

writeFileSync(join(import.meta.dirname, '../..', TYPES_FILE), await composeTypes());
process.stdout.write(`${TYPES_FILE}\n`);
