/** The types of the API that the console is written against, as `console/src/api/schema.d.ts` must have them. */
import openapiTS, { astToString } from 'openapi-typescript';
import pino from 'pino';
import { loadConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { startApi } from '../../src/roles/api.ts';

export const TYPES_FILE = 'console/src/api/schema.d.ts';

const HEADER =
  '// Written by `npm run console:types` from the OpenAPI document. Do not change it by hand.\n\n';

/** Leaves out the texts: they are a third of the document, and no one reads comments in a generated file. */
const withoutText = (key: string, value: unknown) =>
  typeof value === 'string' && (key === 'description' || key === 'summary') ? undefined : value;

/** @param document the OpenAPI document, as JSON */
async function writeTypes(document: string): Promise<string> {
  const bare = JSON.stringify(JSON.parse(document, withoutText));
  return HEADER + astToString(await openapiTS(bare));
}

/** Returns the OpenAPI document of the routes. No database is needed to describe them. */
async function describeRoutes(): Promise<string> {
  const url = 'postgres://127.0.0.1:1/none';
  const config = loadConfig({ PORT: '0', OPS_PORT: '0', DATABASE_URL: url });
  const database = openDatabase({ url });
  const keyring = createKeyring('x'.repeat(32));
  const server = await startApi({ config, database, keyring, log: pino({ level: 'silent' }) });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/openapi.json`);
    return await response.text();
  } finally {
    await server.stop();
    await database.close();
  }
}

/** Returns what the file must contain. */
export const composeTypes = async () => writeTypes(await describeRoutes());

/** @returns what is wrong with the committed file, if anything */
export async function findTypeFaults(committed: string): Promise<string[]> {
  if ((await composeTypes()) === committed) return [];
  return [`${TYPES_FILE}: differs from the routes; run \`npm run console:types\` and commit it.`];
}
