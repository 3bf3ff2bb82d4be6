// Compares the parts of the mails in a folder, such as the fixtures of a mail parser, with those that Python finds:
// node test/support/mail-suite/compare.ts FOLDER
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { differenceOf, partsOf, pythonParts } from './parts.ts';

const [folder = ''] = process.argv.slice(2);
let same = 0;
const expected = await pythonParts(folder);
for (const mail of expected) {
  const found = partsOf(mail.name, await readFile(join(folder, mail.name)));
  const difference = differenceOf(found, mail);
  if (difference === null) same += 1;
  else console.log(`${mail.name}: ${difference} [${mail.defects?.join(' ') ?? ''}]`);
}
console.log(`${same} of ${expected.length} mails have the same parts`);
