/** A program that fetches the tests' tools in advance. CI runs it alongside the static checks. */
import { getTools } from './tools.ts';

const { missing } = await getTools();
for (const reason of Object.values(missing)) process.stderr.write(`${reason}\n`);
