import pino from 'pino';
import { createRecipientFence } from '../../src/delivery/ledger/consent/recipient-fence.ts';
import { eventConsumers } from '../../src/features/events.ts';
import { advanceImport, type ImportRunDeps } from '../../src/features/imports/run.ts';
import type { Import } from '../../src/features/imports/schema.ts';
import { createEventPublisher } from '../../src/platform/events/publish.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { TEST_SECRET, type TestApi, type TestRequest, type TestResponse } from './api.ts';

export interface ImportGiven {
  file: string | Buffer;
  resource?: string;
  options?: unknown;
  filename?: string;
}

export function importForm({ file, resource, options, filename = 'contacts.csv' }: ImportGiven): FormData {
  const form = new FormData();
  if (resource !== undefined) form.set('resource', resource);
  form.set('file', new Blob([Buffer.from(file as string)]), filename);
  // Comes after the file, because fields may come in any order.
  if (options !== undefined)
    form.set('options', typeof options === 'string' ? options : JSON.stringify(options));
  return form;
}

export function postImport(
  api: TestApi,
  given: ImportGiven,
  request: TestRequest = {},
): Promise<TestResponse<Import>> {
  return api.request<Import>('POST', '/v1/my/imports', { ...request, rawBody: importForm(given) });
}

export function importDeps(api: TestApi): ImportRunDeps {
  const { pool } = api.database;
  return {
    pool,
    consent: { keyring: createKeyring(TEST_SECRET), plusAddresses: false },
    store: createHomeStore(api.config.CARILLON_HOME),
    events: createEventPublisher(eventConsumers),
    waker: { wake: () => undefined },
    fence: createRecipientFence(pool),
    log: pino({ level: 'silent' }),
  };
}

export const attendance = { progress: () => undefined, stopping: new AbortController().signal, attempt: 1 };

/** Does the workflow's work without the engine. */
export async function runToEnd(
  api: TestApi,
  id: number,
  limits: Partial<ImportRunDeps> = {},
): Promise<Import> {
  for (;;) {
    const { phase } = await advanceImport({ ...importDeps(api), ...limits }, id, attendance);
    if (phase === 'waiting') throw new Error('the import is waiting for others');
    if (phase === 'done') break;
  }
  return (await api.request<Import>('GET', `/v1/my/imports/${id}`)).body;
}

/** Imports a file, from the request to the end. */
export async function importFile(api: TestApi, given: ImportGiven): Promise<Import> {
  const { status, body, text } = await postImport(api, given);
  if (status !== 201) throw new Error(`${status}: ${text}`);
  return runToEnd(api, body.id);
}
